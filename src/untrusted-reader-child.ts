import { messageOf } from './errors.ts'

/** To the child: ends the pieces of a document. */
export type ReaderRequest<Request> = { request: Request }

/** From the child: `ready` once, then pieces and an answer, or a fault, for each document. */
export type ReaderAnswer<Answer> = { ready: true } | { piece: Uint8Array } | { answer: Answer } | { fault: string }

/** bytes; what leaves at once keeps whoever reads it busy for no longer */
const pieceSize = 256 * 1024

/**
 * The whole life of a child of `UntrustedReader`: reads one document after the other. What `read` throws is told as the
 * fault of the document.
 * @param read gets the document, and a function that sends bytes ahead of the answer
 */
export function readUntrusted<Request, Answer>(
  read: (document: Buffer, request: Request, sendBytes: (bytes: Uint8Array) => void) => Answer | Promise<Answer>,
): void {
  const send = (message: ReaderAnswer<Answer>): void => void process.send?.(message)
  const sendBytes = (bytes: Uint8Array): void => {
    for (let start = 0; start < bytes.length; start += pieceSize) {
      // A copy: a view would take all of its buffer with it.
      send({ piece: new Uint8Array(bytes.subarray(start, start + pieceSize)) })
    }
  }
  const answer = async (document: Buffer, request: Request): Promise<void> => {
    try {
      send({ answer: await read(document, request, sendBytes) })
    } catch (error) {
      send({ fault: messageOf(error) })
    }
  }
  let pieces: Uint8Array[] = []
  process.on('message', (message: Uint8Array | ReaderRequest<Request>) => {
    if (message instanceof Uint8Array) return void pieces.push(message)
    const document = Buffer.concat(pieces)
    pieces = []
    void answer(document, message.request)
  })
  send({ ready: true })
}
