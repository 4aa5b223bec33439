import { readUntrusted } from '../untrusted-reader-child.ts'
import type { FeedbackReport, ProvenRecipient } from './feedback-report.ts'
import { parseFeedback } from './parse-feedback.ts'
import { readReturnedMessage } from './read-returned-message.ts'

/** Reads returned messages. Started, and killed where needed, by feedback-parser.ts. */

readUntrusted<ProvenRecipient | null, FeedbackReport>(async (document, about) => parseFeedback(await readReturnedMessage(document), about))
