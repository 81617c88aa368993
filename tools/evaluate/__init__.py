"""Measuring a service on questions whose answers somebody knows. It knows nothing of the command line.

labelled.read_questions(path)    a file of one's own questions, with what is known of each
run.asker, run.ask_all           ask a service each of them; what was answered is kept for the next run
judge.judge                      what was right of each reply
figures.measure                  figures with the ranges that they likely lie in
figures.compare, figures.broken  their change since an older run; those that are below what was asked for
report.tables, page.page         the whole result for people; report.as_json for programs
drafting.drafter                 questions out of documents, for a person to correct
judged.Asker, fitting.fitted     a bar and a confidence fitted to such questions
beir, retrieval.score            a corpus with judgements in BEIR's layout
"""
