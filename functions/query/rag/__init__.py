"""A question-answering pipeline as a plain Python library: nothing from AWS except inside adapters.

    types <- text <- stages <- pipeline <- profiles <- wiring <- app

Importing the package is cheap; import the module that you need.
"""
