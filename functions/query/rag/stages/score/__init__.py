"""How sure is the service?"""
