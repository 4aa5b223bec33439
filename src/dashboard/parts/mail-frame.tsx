import { useEffect, useState } from 'preact/hooks'
import { ApiError, basePath, call } from '../api/client.ts'
import type { Email } from '../api/types.ts'
import { t } from '../texts/texts.ts'
import { Refusal, Skeleton } from './answer.tsx'
import { Segments } from './controls.tsx'

type Width = 'phone' | 'desktop'
type Colours = 'light' | 'dark'

/** How much space may stand anywhere: without a limit, a mail full of it would hold the page. */
const fromTheWeb = /(?:\b(?:src|srcset|background)\s{0,9}=\s{0,9}["']?|url\(\s{0,9}["']?)\s{0,9}(?:https?:)?\/\//i

/**
 * The HTML of an email as its reader sees it: in a frame without script, forms, links that lead anywhere, or network. Pictures from the
 * web are loaded only when somebody asks for them, because that tells their server.
 */
export function MailFrame({ email, sandbox, first }: { email: Email; sandbox: boolean; first: Width }) {
  const [width, setWidth] = useState<Width>(first)
  const [colours, setColours] = useState<Colours>('light')
  const [pictures, setPictures] = useState(false)
  const { url, error, retry } = usePreview(email.id, { sandbox, pictures })
  const hasPictures = email.html !== null && fromTheWeb.test(email.html)
  return (
    <>
      <div class="tools">
        <Segments
          name={t.mail.width}
          options={[
            ['phone', t.mail.phone],
            ['desktop', t.mail.desktop],
          ]}
          current={width}
          onChoice={(choice) => setWidth(choice as Width)}
        />
        <Segments
          name={t.mail.colours}
          options={[
            ['light', t.mail.light],
            ['dark', t.mail.dark],
          ]}
          current={colours}
          onChoice={(choice) => setColours(choice as Colours)}
        />
        {hasPictures && !pictures && (
          <span class="muted">
            {t.mail.notLoaded}{' '}
            <button class="btn small plain" type="button" onClick={() => setPictures(true)}>
              {t.mail.load}
            </button>
          </span>
        )}
      </div>
      {error && <Refusal error={error} onRetry={retry} />}
      {url === null
        ? !error && <Skeleton rows={8} />
        : // A tab stop, since wide mail scrolls sideways in it.
          url && (
            <div class="mail" tabIndex={0} role="region" aria-label={t.mail.frame}>
              <iframe key={url} class={`${width} ${colours}`} sandbox="" title={t.mail.frame} src={basePath + url} />
            </div>
          )}
    </>
  )
}

/** The address of a preview, which can be fetched once; null until there is one. */
function usePreview(emailId: string, { sandbox, pictures }: { sandbox: boolean; pictures: boolean }) {
  const [url, setUrl] = useState<string | null>(null)
  const [error, setError] = useState<ApiError | null>(null)
  const [attempt, setAttempt] = useState(0)
  useEffect(() => {
    let isOver = false
    setUrl(null)
    setError(null)
    call<{ url: string }>('/api/previews', { method: 'POST', body: { email_id: emailId, pictures }, sandbox }).then(
      (made) => isOver || setUrl(made.url),
      (failure: unknown) => {
        if (!(failure instanceof ApiError)) throw failure
        if (!isOver) setError(failure)
      },
    )
    return () => {
      isOver = true
    }
  }, [emailId, sandbox, pictures, attempt])
  return { url, error, retry: () => setAttempt(attempt + 1) }
}
