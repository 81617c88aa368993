"""Is this a question that the pipeline should see?"""
