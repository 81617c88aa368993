"""What may a finished text lead to?"""
