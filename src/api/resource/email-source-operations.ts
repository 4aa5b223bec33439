import { Readable } from 'node:stream'
import { z } from 'zod'
import { SternaError } from '../../platform/errors.ts'
import { maxHeaderBytes, parseHeaderBlock } from '../../mail/message/header-block.ts'
import type { MessageReader } from '../../mail/message/message-reader.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { listOf, wholeList } from '../operation/page.ts'
import { downloadOfStranger } from '../operation/raw-answer.ts'
import { findMessage } from './email-reading-operations.ts'
import type { Needs } from './operation-services.ts'

export const headerField = z
  .object({ name: z.string(), value: z.string().describe('Unfolded, but not decoded.') })
  .meta({ id: 'EmailHeaderField' })

const at = operationsAt({ path: '/api/emails', tag: 'Emails', permission: 'read_access' })

/** The message itself. */
export const emailSourceOperations = ({ messages }: Needs<'messages'>): Operation[] => [
  at.get('emails.download_source', '/{id}/source', 'Download an email as it was accepted', {
    description: 'The whole message (RFC 5322), before links of tracking are put in and before it is signed.',
    answer: ['The message, as a download.', 'message/rfc822'],
    handle: async (call) => {
      const { id, size } = await findMessage(call, messages)
      const chunks = messages.chunks(id)
      const first = await chunks.next()
      if (first.done) throw gone()
      const stream = Readable.from(following(first.value, chunks), { objectMode: false })
      return downloadOfStranger(call.reply, stream, { type: 'message/rfc822', filename: `${id}.eml`, size })
    },
  }),
  at.get('emails.list_headers', '/{id}/headers', 'List the header fields of an email', {
    description: 'As it was accepted, in the order of the message. Names can repeat.',
    answer: ['The fields, all on one page.', listOf(headerField)],
    refuses: ['invalid_message'],
    handle: async (call) => {
      const { id } = await findMessage(call, messages)
      const parsed = parseHeaderBlock(await headerOf(id, messages))
      if (!parsed.ok) throw new SternaError('invalid_message', parsed.fault)
      return wholeList(parsed.fields.map(({ name, value }) => ({ name, value })))
    },
  }),
]

/** The bytes of the header with its empty line: it is limited, and of the body only what comes along in a chunk is read. */
async function headerOf(id: string, messages: MessageReader): Promise<Uint8Array> {
  let read = Buffer.alloc(0)
  for await (const chunk of messages.chunks(id)) {
    read = Buffer.concat([read, chunk])
    const end = read.indexOf('\r\n\r\n')
    if (end !== -1) return read.subarray(0, end + 4)
    if (read.length > maxHeaderBytes) break
  }
  if (read.length === 0) throw gone()
  return read
}

const gone = (): SternaError => new SternaError('not_found', 'The content of this email is no longer kept.')

async function* following(first: Uint8Array, rest: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield first
  yield* rest
}
