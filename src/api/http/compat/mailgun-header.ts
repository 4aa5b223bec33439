import { headerBytesOf, maxHeaderBytes, parseHeaderBlock } from '../../../mail/message/header-block.ts'
import { decodeHeaderText } from '../../../platform/smtp/encoded-word.ts'
import type { Form } from './form-fields.ts'
import { withCrlf } from './with-crlf.ts'

/** Header fields by which a raw message asks for what a form asks for in parameters. */
const parameters: Record<string, string> = {
  'x-mailgun-tag': 'o:tag',
  'x-mailgun-variables': 'h:X-Mailgun-Variables',
  'x-mailgun-deliver-by': 'o:deliverytime',
  'x-mailgun-drop-message': 'o:testmode',
  'x-mailgun-dkim': 'o:dkim',
  'x-mailgun-track': 'o:tracking',
  'x-mailgun-track-opens': 'o:tracking-opens',
  'x-mailgun-track-clicks': 'o:tracking-clicks',
  'x-mailgun-require-tls': 'o:require-tls',
  'x-mailgun-skip-verification': 'o:skip-verification',
  'x-mailgun-recipient-variables': 'recipient-variables',
}

const parameterOf = (name: string): string | undefined =>
  Object.hasOwn(parameters, name.toLowerCase()) ? parameters[name.toLowerCase()] : undefined

/**
 * Takes these fields out of a message, as Mailgun does before it sends it. A header that cannot be read stays as it is, and is refused
 * later.
 */
export function takeParameters(message: Buffer): { content: Buffer; fields: Form['fields'] } {
  const end = headerEnd(message)
  const block = parseHeaderBlock(Buffer.concat([...withCrlf(message.subarray(0, end))]))
  if (!block.ok) return { content: message, fields: [] }
  const fields: Form['fields'] = []
  const kept = block.fields.filter(({ name, value }) => {
    const parameter = parameterOf(name)
    if (parameter !== undefined) fields.push([parameter, decodeHeaderText(value).trim()])
    return parameter === undefined
  })
  return fields.length === 0
    ? { content: message, fields }
    : { content: Buffer.concat([headerBytesOf(kept), message.subarray(end)]), fields }
}

/** Where the body begins: behind the empty line, whichever way its lines end; at most a little behind the largest header. */
function headerEnd(message: Buffer): number {
  const header = message.subarray(0, maxHeaderBytes + 2).toString('latin1')
  const emptyLine = /\r?\n\r?\n/.exec(header)
  return emptyLine ? emptyLine.index + emptyLine[0].length : header.length
}
