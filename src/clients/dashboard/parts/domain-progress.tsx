import { useEffect, useState } from 'preact/hooks'
import { call } from '../api/client.ts'
import type { Domain } from '../api/types.ts'
import { fullTime } from '../format.ts'
import { mayChange } from '../rights.ts'
import { t } from '../texts/texts.ts'
import { Note } from './page.tsx'
import { Ago } from './time.tsx'

/** By itself the server looks every few minutes; while somebody waits here, it is asked to look more often. */
const askMs = 30_000

/** When the records are looked for next, while one of them is missing. */
export function DomainProgress({ domain, reload }: { domain: Domain; reload(): Promise<void> }) {
  const { status, stops_at: stopsAt, failing_since: failingSince } = domain
  if (status === 'failed') {
    return (
      <Note tone="bad" says={t.domain.failed}>
        <p>{t.domain.failedHow}</p>
      </Note>
    )
  }
  if (stopsAt !== null && failingSince !== null) {
    return (
      <Note tone="bad">
        <p>
          <b>{t.domain.stopsAt(fullTime(stopsAt))}</b> {t.domain.lostSince(fullTime(failingSince))}
        </p>
        <Looking domain={domain} reload={reload} />
      </Note>
    )
  }
  if (status === 'verified') return null
  return (
    <Note tone="wait">
      <Looking domain={domain} reload={reload} />
      <p>
        {t.domain.mayLeave}{' '}
        {domain.checked_at !== null && (
          <>
            {t.domain.lastLook} <Ago of={domain.checked_at} />.
          </>
        )}
      </p>
    </Note>
  )
}

function Looking({ domain, reload }: { domain: Domain; reload(): Promise<void> }) {
  const [now, setNow] = useState(Date.now())
  const [askAt, setAskAt] = useState(mayChange() ? Date.now() + askMs : Infinity)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  const isDue = now >= askAt && !document.hidden
  useEffect(() => {
    if (!isDue) return
    setAskAt(Date.now() + askMs)
    // Where it was asked a moment ago, there is nothing to ask again.
    void call(`/api/domains/${domain.id}/verify`, { method: 'POST' }).then(reload, () => undefined)
  }, [isDue])
  const planned = domain.next_check_at === null ? Infinity : Date.parse(domain.next_check_at)
  const seconds = Math.max(0, Math.round((Math.min(planned, askAt) - now) / 1_000))
  return (
    <p>
      <b>{seconds === 0 || !Number.isFinite(seconds) ? t.domain.looking : t.domain.lookingIn(seconds)}</b>{' '}
      {t.domain.askedDirectly(domain.name)}
    </p>
  )
}
