import { bounceVocabulary } from '../bounce-vocabulary.ts'
import { readUntrusted } from '../untrusted-reader-child.ts'
import type { Feedback, ProvenRecipient } from '../bounce-parser/feedback.ts'
import { parseFeedback } from '../bounce-parser/parse-feedback.ts'
import { readReturnedMessage } from '../bounce-parser/read-returned-message.ts'

/** The child process that parses returned messages. `feedback-parser.ts` starts and kills it. */

readUntrusted<ProvenRecipient | null, Feedback>(async (document, about) =>
  parseFeedback(await readReturnedMessage(document, bounceVocabulary()), about),
)
