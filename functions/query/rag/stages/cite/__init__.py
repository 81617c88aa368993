"""Which passages does an answer cite?"""
