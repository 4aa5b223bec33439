import type { Readable } from 'node:stream'
import { MailParser, type StructuredHeader } from 'mailparser'

/** A part of a message that has content rather than parts. A message within the message counts as one. */
export interface MimeLeaf {
  /** Lower case, without parameters. */
  contentType: string
  /** As the part declares it. */
  charset: string | null
  /** With the transfer encoding decoded. */
  content: Buffer
}

interface MimeMessage {
  /** `name` in lower case; `line` is the unchanged field, including folding. */
  fields: { name: string; line: string }[]
  leaves: MimeLeaf[]
}

// A message within the message stays one leaf; for the other options see `parser-process`.
const options = {
  skipHtmlToText: true,
  skipTextToHtml: true,
  skipImageLinks: true,
  skipTextLinks: true,
  keepDeliveryStatus: true,
  ignoreEmbedded: true,
}

/** Missing in its type definitions. */
const { processHeaders } = MailParser.prototype as unknown as {
  processHeaders(this: MailParser, lines: { key: string }[]): Map<string, unknown>
}

async function bytesOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/**
 * The header of a MIME message and its leaves in order (RFC 2045, RFC 2046). Call it in a process that can be killed, because some
 * input takes mailparser long.
 * @throws Error if mailparser refuses the message: more than 1000 parts, a header of more than 1 MiB
 */
export function mimeLeaves(document: Uint8Array): Promise<MimeMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<MimeMessage>()
  const parser = new MailParser(options as ConstructorParameters<typeof MailParser>[0])
  Object.assign(parser, {
    // mailparser would merge text parts into one, without order or type; it hands over other types part by part.
    textTypes: [],
    // It would parse every field, a list of many thousand addresses for seconds, and nobody needs the result.
    processHeaders: (lines: { key: string }[]) =>
      processHeaders.call(
        parser,
        lines.filter(({ key }) => key === 'content-type'),
      ),
  })
  const message: MimeMessage = { fields: [], leaves: [] }
  parser.on('headerLines', (lines) => {
    message.fields = lines.map(({ key, line }) => ({ name: key, line }))
  })
  let lastLeaf: Promise<void> = Promise.resolve()
  parser.on('data', (data) => {
    if (data.type !== 'attachment') return
    const parameters = (data.headers.get('content-type') as StructuredHeader | undefined)?.params
    lastLeaf = bytesOf(data.content as Readable).then((content) => {
      message.leaves.push({ contentType: data.contentType || 'text/plain', charset: parameters?.['charset'] ?? null, content })
      data.release()
    })
    lastLeaf.catch(reject)
  })
  parser.on('error', reject)
  // A leaf at the end of the message is complete a moment after the message.
  parser.on('end', () => void lastLeaf.then(() => resolve(message), reject))
  parser.end(document)
  return promise
}
