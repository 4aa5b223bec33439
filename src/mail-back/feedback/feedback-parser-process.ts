import { bounceVocabulary } from '../../mail/bounce-vocabulary.ts'
import { readUntrusted } from '../../platform/untrusted-reader-child.ts'
import type { Feedback, ProvenRecipient } from '../../mail/bounce-parser/feedback.ts'
import { parseFeedback } from '../../mail/bounce-parser/parse-feedback.ts'
import { readReturnedMessage } from '../../mail/bounce-parser/read-returned-message.ts'

/** The child process that parses returned messages. `feedback-parser.ts` starts and kills it. */

readUntrusted<ProvenRecipient | null, Feedback>(async (document, about) =>
  parseFeedback(await readReturnedMessage(document, bounceVocabulary()), about),
)
