import { SternaError } from '../errors.ts'
import type { ApiContext } from './api-state.ts'
import { smallBodyLimit } from './json-body.ts'

/**
 * The fields of a form as a browser sends it.
 * @throws SternaError `unsupported_media_type`, `payload_too_large`
 */
export async function formBody(ctx: ApiContext): Promise<URLSearchParams> {
  if (!isForm(ctx)) throw new SternaError('unsupported_media_type', 'Send the form as a browser does.')
  return new URLSearchParams((await formBytes(ctx)).toString('utf8'))
}

const isForm = ({ req }: ApiContext): boolean => /^application\/x-www-form-urlencoded\b/i.test(req.headers['content-type'] ?? '')

/** RFC 8058 3.1; a mail program may send it in either form. */
const oneClick = /name="?List-Unsubscribe"?[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\nOne-Click\r\n/i

/**
 * What the request to unsubscribe came from: a mail program, the page's own button, or null where it is neither.
 * @throws SternaError `payload_too_large`
 */
export async function unsubscribeForm(ctx: ApiContext): Promise<'one_click' | 'link' | null> {
  const text = (await formBytes(ctx)).toString('utf8')
  if (!isForm(ctx)) return oneClick.test(text) ? 'one_click' : null
  const form = new URLSearchParams(text)
  if (form.get('List-Unsubscribe')?.toLowerCase() === 'one-click') return 'one_click'
  return form.has(unsubscribeButton) ? 'link' : null
}

/** The field that the page's button sends. */
export const unsubscribeButton = 'unsubscribe'

async function formBytes({ req }: ApiContext): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > smallBodyLimit) throw new SternaError('payload_too_large', 'The form is too large.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
