import type { ApiContext } from './api-state.ts'
import { formText, isForm } from './form-body.ts'

/** The field that the page's button sends. */
export const unsubscribeButton = 'unsubscribe'

/** RFC 8058 3.1: a mail program may send it as multipart or URL-encoded. */
const oneClickPart = /name="?List-Unsubscribe"?[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\nOne-Click\r\n/i

/**
 * What sent an unsubscribe request: a mail program, the page's own button, or null if it is neither.
 * @throws SternaError `payload_too_large`
 */
export async function unsubscribeForm(ctx: ApiContext): Promise<'one_click' | 'link' | null> {
  const text = await formText(ctx)
  if (!isForm(ctx)) return oneClickPart.test(text) ? 'one_click' : null
  const form = new URLSearchParams(text)
  if (form.get('List-Unsubscribe')?.toLowerCase() === 'one-click') return 'one_click'
  return form.has(unsubscribeButton) ? 'link' : null
}
