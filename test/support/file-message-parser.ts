import { startMessageParser, type MessageParser } from '../../src/mail/message/message-parser.ts'
import { onFileFinished } from './file-finished.ts'

let parser: MessageParser | undefined

/** A parser that the tests of a file share: it keeps nothing of a message, and its process takes longer to start than most tests. */
export function fileMessageParser(): MessageParser {
  if (parser) return parser
  const started = startMessageParser()
  parser = started
  onFileFinished(async () => {
    parser = undefined
    await started.stop()
  })
  return started
}
