"""Do the hits support an answer?"""
