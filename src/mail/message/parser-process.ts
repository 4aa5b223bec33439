import { simpleParser, type ParsedMail } from 'mailparser'
import { decodeHeaderText } from '../../platform/smtp/encoded-word.ts'
import { readUntrusted } from '../../platform/untrusted-reader-child.ts'
import { checkContent } from './content-checks.ts'
import type { ParsedMessage, ParserAnswer, ParserRequest } from './message-parser.ts'
import { withPictures } from './shown-html.ts'

/** Parses untrusted MIME with mailparser. Started, and killed if needed, by message-parser.ts. */

// Its conversions between HTML and text take minutes for hostile input, and nobody needs them here. Without keepDeliveryStatus, it
// would merge a delivery status into the text.
const options = { skipHtmlToText: true, skipTextToHtml: true, skipImageLinks: true, skipTextLinks: true, keepDeliveryStatus: true }

function messageFrom(parsed: ParsedMail): ParsedMessage {
  return {
    html: parsed.html || null,
    text: parsed.text ?? null,
    attachments: parsed.attachments.map(({ filename, contentType, contentDisposition, related, size, cid }) => ({
      filename: filename ?? null,
      contentType,
      disposition: contentDisposition === 'inline' || related ? 'inline' : 'attachment',
      size,
      contentId: cid ?? null,
    })),
    headers: parsed.headerLines.map(({ key, line }) => ({
      name: key,
      value: decodeHeaderText(line.slice(line.indexOf(':') + 1).replace(/\r?\n/g, '')).trim(),
    })),
  }
}

/** The HTML to look at; undefined if there is none. */
function shownHtml({ html, attachments }: ParsedMail, limit: number): Buffer | undefined {
  if (!html) return undefined
  const shown = Buffer.from(withPictures(html, attachments, limit))
  if (shown.length > limit) throw new Error(`its HTML is larger than ${limit / 1024 / 1024} MiB.`)
  return shown
}

readUntrusted<ParserRequest, ParserAnswer>(async (document, request, sendBytes) => {
  const parsed = await simpleParser(document, options)
  if ('attachment' in request && request.attachment === null) return { message: messageFrom(parsed) }
  if ('check' in request) {
    const { html, text, headers } = messageFrom(parsed)
    return { report: checkContent({ html, text, headers, subject: parsed.subject ?? '', ...request.check }) }
  }
  const bytes = 'htmlLimit' in request ? shownHtml(parsed, request.htmlLimit) : parsed.attachments[request.attachment ?? 0]?.content
  if (bytes) sendBytes(bytes)
  return { found: bytes !== undefined }
})
