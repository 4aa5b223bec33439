import { useEffect, useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import { ApiError, callForResponse } from '../api/client.ts'
import type { Attachment, Email, HeaderField, List } from '../api/types.ts'
import { download } from '../download.ts'
import { bytes } from '../format.ts'
import { t } from '../texts/texts.ts'
import { Answer, Refusal, Skeleton } from './answer.tsx'
import { ActionButton } from './controls.tsx'

/** The header, field by field. What it says is not ours, so it is text. */
export function EmailHeaders({ id, sandbox }: { id: string; sandbox: boolean }) {
  const list = useApi<List<HeaderField>>(`/api/emails/${id}/headers`, { sandbox })
  return (
    <Answer of={list} rows={8}>
      {({ data }) => (
        <dl class="header-fields">
          {data.map(({ name, value }, place) => (
            <div key={place}>
              <dt>{name}</dt>
              <dd class="mono">{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </Answer>
  )
}

/** Characters; the whole is downloaded. */
const maxShown = 200_000

/** The beginning of the message as it was accepted. */
export function EmailSource({ email, sandbox }: { email: Email; sandbox: boolean }) {
  const { text, isWhole, error } = useSource(email.id, sandbox)
  if (error) return <Refusal error={error} />
  if (text === null) return <Skeleton rows={8} />
  return (
    <>
      {!isWhole && <p class="muted">{t.mail.cutSource(bytes(maxShown), bytes(email.size))}</p>}
      <pre class="code plain" tabIndex={0} aria-label={t.email.contentTabs['source']}>
        {text}
      </pre>
    </>
  )
}

function useSource(id: string, sandbox: boolean): { text: string | null; isWhole: boolean; error: ApiError | null } {
  const [text, setText] = useState<string | null>(null)
  const [isWhole, setWhole] = useState(true)
  const [error, setError] = useState<ApiError | null>(null)
  useEffect(() => {
    const aborted = new AbortController()
    beginningOf(`/api/emails/${id}/source`, sandbox, aborted).then(
      (beginning) => {
        setText(beginning.slice(0, maxShown))
        setWhole(beginning.length <= maxShown)
      },
      (failure: unknown) => failure instanceof ApiError && setError(failure),
    )
    return () => aborted.abort()
  }, [id, sandbox])
  return { text, isWhole, error }
}

/** At least one character more than is shown, if there is. */
async function beginningOf(path: string, sandbox: boolean, aborted: AbortController): Promise<string> {
  const { body } = await callForResponse(path, { sandbox, signal: aborted.signal })
  let text = ''
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  while (reader && text.length <= maxShown) {
    const { value, done } = await reader.read()
    if (done) return text
    text += value
  }
  aborted.abort()
  return text
}

export const DownloadEmail = ({ id, sandbox }: { id: string; sandbox: boolean }) => (
  <ActionButton
    small
    text={t.common.download}
    icon="dl"
    run={async () => {
      const response = await callForResponse(`/api/emails/${id}/source`, { sandbox })
      download(`${id}.eml`, 'message/rfc822', await response.blob())
    }}
  />
)

export function EmailAttachments({ id, sandbox }: { id: string; sandbox: boolean }) {
  const path = `/api/emails/${id}/attachments`
  const list = useApi<List<Attachment>>(path, { sandbox })
  const save = async (attachment: Attachment): Promise<void> => {
    const response = await callForResponse(`${path}/${attachment.id}/content`, { sandbox })
    download(attachment.filename ?? attachment.id, 'application/octet-stream', await response.blob())
  }
  return (
    <Answer of={list} rows={2}>
      {({ data }) =>
        data.length === 0 ? (
          <p class="muted">{t.email.noAttachments}</p>
        ) : (
          <ul class="stack">
            {data.map((attachment) => (
              <li key={attachment.id} class="labelled">
                <b>{attachment.filename ?? attachment.id}</b>
                <span class="muted">
                  {attachment.content_type}, {bytes(attachment.size)}
                </span>
                <ActionButton small text={t.common.download} icon="dl" run={() => save(attachment)} />
              </li>
            ))}
          </ul>
        )
      }
    </Answer>
  )
}
