"""The local HTTP server: waitress, a stand-in for API Gateway, and the Lambda handler behind it."""
