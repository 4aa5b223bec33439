import { isAscii } from 'node:buffer'
import type { MailComposerAttachment, MailComposerOptions } from 'nodemailer/lib/mail-composer'
import type { ComposedHeader } from './compose-header.ts'
import { textEntity } from './compose-plain.ts'
import { parseHeaderBlock } from './header-block.ts'
import { isSevenBit, withCrlf } from './text-part.ts'
import { hasShortLines } from './transfer-encoding.ts'

export interface OutgoingAttachment {
  filename: string
  content: Buffer
  /** null: guessed from the file name. */
  contentType: string | null
  /** Without angle brackets; set: shown inside the html. */
  contentId: string | null
}

interface FullBody {
  html: string | null
  text: string | null
  attachments: OutgoingAttachment[]
}

/** Only these of MailComposer's fields are used; all others are ours. */
const mimeFields = /^(?:mime-version|content-type|content-transfer-encoding|content-disposition|content-id)$/i

/** An invitation: mail programs show it as one only if it is also an alternative of the text (RFC 6047 2.4). */
const calendarMethod = (contentType: string | null): string | null =>
  /^text\/calendar\b[^\r\n]*?;\s*method="?([A-Za-z-]{1,20})"?/i.exec(contentType ?? '')?.[1] ?? null

/**
 * A message/* part may not be encoded (RFC 2046 5.2.1), and MailComposer would take a multipart apart: what cannot travel as it is
 * goes as a file. An attached message may have bytes above 127, which are encoded within it when it leaves for a host that needs that.
 */
function travelling(attachment: OutgoingAttachment): Pick<OutgoingAttachment, 'content' | 'contentType'> {
  const { contentType: given, filename, content } = attachment
  const contentType = given ?? (/\.eml$/i.test(filename) ? 'message/rfc822' : null)
  const file = { content, contentType: 'application/octet-stream' }
  if (contentType === null) return attachment
  if (/^multipart\//i.test(contentType)) return file
  if (!/^message\//i.test(contentType)) return { content, contentType }
  const lines = withCrlf(content)
  const fits = /^message\/(?:rfc822|global)\b/i.test(contentType) ? !lines.includes(0) && hasShortLines(lines) : isSevenBit(lines)
  return fits ? { content: lines, contentType } : file
}

function attachmentOf(attachment: OutgoingAttachment): MailComposerAttachment {
  const { content, contentType } = travelling(attachment)
  const { contentId } = attachment
  return {
    filename: attachment.filename,
    content,
    contentDisposition: contentId === null ? 'attachment' : 'inline',
    ...(contentType === null ? {} : { contentType }),
    ...(contentId === null ? {} : { cid: contentId }),
  }
}

/** Encoded as in a message without attachments: spam filters count base64-encoded ASCII against a message. */
function textOf(text: string | null, subtype: 'plain' | 'html'): { raw: Buffer } | undefined {
  if (text === null) return undefined
  const [head, bytes] = textEntity(subtype, text)
  return { raw: Buffer.concat([Buffer.from(head), bytes]) }
}

/**
 * Composes a message with attachments, inline images or an invitation, using nodemailer's MailComposer. MailComposer gets only bytes,
 * never a path or a URL, and makes only the MIME tree: the header is the same as that of `composePlain`.
 */
export async function composeFull(header: ComposedHeader, { html, text, attachments }: FullBody): Promise<Buffer> {
  const invitation = attachments.find(({ contentType, contentId }) => contentId === null && calendarMethod(contentType) !== null)
  const options: MailComposerOptions = {
    text: textOf(text, 'plain'),
    html: textOf(html, 'html'),
    attachments: attachments.filter((attachment) => attachment !== invitation).map(attachmentOf),
    encoding: 'base64',
    newline: 'win',
    disableFileAccess: true,
    disableUrlAccess: true,
  }
  if (invitation) {
    const method = calendarMethod(invitation.contentType) ?? 'PUBLISH'
    options.icalEvent = { content: invitation.content, filename: invitation.filename, method }
  }
  // Most relays never compose an attachment.
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer')
  const built = withCrlf(await new MailComposer(options).compile().build())
  const block = parseHeaderBlock(built)
  if (!block.ok) throw new Error(`MailComposer made a header we cannot read: ${block.fault}`)
  const fields = block.fields.filter(({ name }) => mimeFields.test(name)).map(({ raw }) => raw)
  const body = built.subarray(block.bodyOffset)
  // A multipart has the encoding of its parts (RFC 2045 6.4).
  const encoding = isAscii(body) ? '' : 'Content-Transfer-Encoding: 8bit\r\n'
  return Buffer.concat([Buffer.from(`${header.text}\r\n`), ...fields, Buffer.from(`${encoding}\r\n`), body])
}
