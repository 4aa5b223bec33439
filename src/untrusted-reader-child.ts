import { flushCompileCache } from 'node:module'
import { messageOf } from './errors.ts'

/** To the child: ends the pieces of a document. */
export type ReaderRequest<Request> = { request: Request }

/** From the child: `ready` once, then pieces and an answer, or a fault, for each document. */
export type ReaderAnswer<Answer> = { ready: true } | { piece: Uint8Array } | { answer: Answer } | { fault: string }

/** bytes; what leaves at once keeps whoever sends and whoever reads it busy for no longer */
const pieceSize = 256 * 1024

/** Views of these bytes, one after the other, each small enough to leave at once. */
export const inPieces = (bytes: Uint8Array): Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / pieceSize) }, (_, place) => bytes.subarray(place * pieceSize, (place + 1) * pieceSize))

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
    // Copies: a view would take all of its buffer with it.
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
  // Otherwise it is written when the process ends by itself, and this one is killed.
  flushCompileCache()
}
