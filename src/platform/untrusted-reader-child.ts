import { flushCompileCache } from 'node:module'
import { messageOf } from './errors.ts'

/** To the child: follows the pieces of a document. */
export type ReaderRequest<Request> = { request: Request }

/** From the child: `ready` once, then for each document pieces and an answer, or a fault. */
export type ReaderAnswer<Answer> = { ready: true } | { piece: Uint8Array } | { answer: Answer } | { fault: string }

/** bytes; bounds how long one message keeps the sender and the receiver busy */
const pieceSize = 256 * 1024

/** Views of these bytes, each small enough for one message. */
export const inPieces = (bytes: Uint8Array): Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / pieceSize) }, (_, place) => bytes.subarray(place * pieceSize, (place + 1) * pieceSize))

/**
 * Runs a child of `UntrustedReader`: reads one document after the other. What `read` throws becomes the document's fault.
 * @param read gets the document, and a function that sends bytes ahead of the answer
 */
export function readUntrusted<Request, Answer>(
  read: (document: Buffer, request: Request, sendBytes: (bytes: Uint8Array) => void) => Answer | Promise<Answer>,
): void {
  const send = (message: ReaderAnswer<Answer>): void => void process.send?.(message)
  const sendBytes = (bytes: Uint8Array): void => {
    // Copies, because a view would be sent with its whole buffer.
    for (const piece of inPieces(bytes)) send({ piece: new Uint8Array(piece) })
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
  // Otherwise it would be written only when the process exits normally, but this one gets killed.
  flushCompileCache()
}
