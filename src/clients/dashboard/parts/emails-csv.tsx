import { useRef, useState } from 'preact/hooks'
import { ApiError, call } from '../api/client.ts'
import type { EmailItem, List } from '../api/types.ts'
import { csvOf, download } from '../download.ts'
import { t } from '../texts/texts.ts'
import { Button, ActionButton } from './button.tsx'

/** More would take long, and a spreadsheet opens no more either. */
const maxRows = 100_000
const waitMs = 10_000
const maxWaits = 12

/** Saves all emails that the filters match, or says how many of them the file has. */
export function EmailsCsv({ asked }: { asked: URLSearchParams }) {
  const [told, setTold] = useState('')
  const isStopped = useRef(false)
  const [isBusy, setBusy] = useState(false)
  const save = async (): Promise<void> => {
    isStopped.current = false
    setBusy(true)
    try {
      const { emails, isWhole } = await allMatching(asked, (count) => {
        setTold(t.emails.csvSoFar(count))
        return !isStopped.current
      })
      download('emails.csv', 'text/csv', rowsOf(emails))
      setTold(isWhole ? t.emails.csvWhole(emails.length) : t.emails.csvCut(emails.length))
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <ActionButton look="small" icon="dl" text={t.emails.csv} run={save} />
      {isBusy && <Button look="small plain" text={t.common.stop} onClick={() => (isStopped.current = true)} />}
      <span class="muted" role="status">
        {told}
      </span>
    </>
  )
}

/** From the newest on, as far as `goesOn` wants it; what was read before something went wrong is kept. */
async function allMatching(asked: URLSearchParams, goesOn: (count: number) => boolean): Promise<{ emails: EmailItem[]; isWhole: boolean }> {
  const emails: EmailItem[] = []
  const page = new URLSearchParams(asked)
  page.delete('after')
  page.set('limit', '100')
  while (goesOn(emails.length) && emails.length < maxRows) {
    const answered = await patiently(() => call<List<EmailItem>>(`/api/emails?${page}`)).catch((error: unknown) => {
      if (emails.length === 0) throw error
      return null
    })
    if (!answered) break
    emails.push(...answered.data)
    const last = answered.stopped_at?.id ?? answered.data.at(-1)?.id
    if (!answered.has_more || last === undefined) return { emails, isWhole: true }
    page.set('after', last)
  }
  return { emails, isWhole: false }
}

/** Waits where the account has made too many requests. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (let waits = 0; ; waits++) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 429 || waits === maxWaits) throw error
      await new Promise((resolve) => setTimeout(resolve, waitMs))
    }
  }
}

function rowsOf(emails: EmailItem[]): string {
  const columns = ['id', 'created_at', 'status', 'from', 'to', 'cc', 'bcc', 'subject', 'message_id'] as const
  return csvOf([[...columns], ...emails.map((email) => columns.map((column) => [email[column] ?? []].flat().join(', ')))])
}
