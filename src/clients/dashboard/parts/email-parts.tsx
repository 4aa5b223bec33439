import { useApi, useFetched } from '../api/cache.ts'
import { callForResponse } from '../api/client.ts'
import type { Attachment, Email, HeaderField, List } from '../api/types.ts'
import { bytes } from '../format.ts'
import { t } from '../texts/texts.ts'
import { Answer, Refusal, Skeleton } from './answer.tsx'
import { SaveButton } from './controls.tsx'

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
  const path = `/api/emails/${email.id}/source`
  const { data, error } = useFetched(`${path} ${sandbox}`, (aborted) => beginningOf(path, sandbox, aborted))
  if (error) return <Refusal error={error} />
  if (data === undefined) return <Skeleton rows={8} />
  return (
    <>
      {data.length > maxShown && <p class="muted">{t.mail.cutSource(bytes(maxShown), bytes(email.size))}</p>}
      <pre class="code plain" tabIndex={0} aria-label={t.email.contentTabs['source']}>
        {data.slice(0, maxShown)}
      </pre>
    </>
  )
}

/** At least one character more than is shown, if there is. */
async function beginningOf(path: string, sandbox: boolean, aborted: AbortSignal): Promise<string> {
  const { body } = await callForResponse(path, { sandbox, signal: aborted })
  let text = ''
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  while (reader && text.length <= maxShown) {
    const { value, done } = await reader.read()
    if (done) return text
    text += value
  }
  void reader?.cancel()
  return text
}

export const DownloadEmail = ({ id, sandbox = false }: { id: string; sandbox?: boolean }) => (
  <SaveButton
    look="small"
    text={t.common.download}
    path={`/api/emails/${id}/source`}
    file={`${id}.eml`}
    type="message/rfc822"
    sandbox={sandbox}
  />
)

export function EmailAttachments({ id, sandbox }: { id: string; sandbox: boolean }) {
  const path = `/api/emails/${id}/attachments`
  const list = useApi<List<Attachment>>(path, { sandbox })
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
                <SaveButton
                  look="small"
                  text={t.common.download}
                  path={`${path}/${attachment.id}/content`}
                  file={attachment.filename ?? attachment.id}
                  type="application/octet-stream"
                  sandbox={sandbox}
                />
              </li>
            ))}
          </ul>
        )
      }
    </Answer>
  )
}
