import { isForm } from './require-form.ts'

/** The field that the page's button sends. */
export const unsubscribeButton = 'unsubscribe'

/** RFC 8058 3.1: a mail program may send it as multipart or URL-encoded. */
const oneClickPart = /name="?List-Unsubscribe"?[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\nOne-Click\r\n/i

/** What sent an unsubscribe request: a mail program, the page's own button, or null if it is neither. */
export function unsubscribeForm(text: string, mediaType: string | undefined): 'one_click' | 'link' | null {
  if (!isForm(mediaType)) return oneClickPart.test(text) ? 'one_click' : null
  const form = new URLSearchParams(text)
  if (form.get('List-Unsubscribe')?.toLowerCase() === 'one-click') return 'one_click'
  return form.has(unsubscribeButton) ? 'link' : null
}
