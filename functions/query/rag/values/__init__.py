"""The frozen values that flow: the answer, the chat, what is stored."""
