import { useFetched } from '../api/cache.ts'
import { basePath, call } from '../api/client.ts'
import { Refusal } from './answer.tsx'

interface PreviewFrame {
  /** Either this or `emailId`. */
  html?: string
  /** An email whose HTML is shown, in the sandbox where `sandbox` says so. */
  emailId?: string
  sandbox?: boolean
  width: 'phone' | 'desktop'
  /** What its style sheets are told that the reader prefers. */
  colours?: 'light' | 'dark'
  /** Whether it may load pictures from the web. */
  pictures?: boolean
  /** Says what is in the frame. */
  name: string
}

/** Somebody's HTML, in a frame that runs no script, loads nothing and knows nothing of this page. */
export function MailPreview({ html, emailId, sandbox = false, width, colours = 'light', pictures = false, name }: PreviewFrame) {
  const body = { pictures, ...(emailId === undefined ? { html } : { email_id: emailId }) }
  const { data, error } = useFetched(JSON.stringify([body, sandbox]), (aborted) =>
    call<{ url: string }>('/api/previews', { method: 'POST', body, sandbox, signal: aborted }),
  )
  if (error) return <Refusal error={error} />
  // Another address makes another frame, because a frame that moves on adds to the history of the page.
  return data && <iframe key={data.url} class={`${width} ${colours}`} sandbox="" title={name} src={basePath + data.url} />
}
