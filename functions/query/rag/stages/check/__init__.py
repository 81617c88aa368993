"""Do the passages that an answer cites bear out what it says?"""
