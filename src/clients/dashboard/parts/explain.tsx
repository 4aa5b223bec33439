import { useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import type { Route } from '../api/types.ts'
import { dayAndTime } from '../format.ts'
import { Link, setQuery } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { Answer } from './answer.tsx'
import { Button } from './button.tsx'
import { Field } from './fields.tsx'
import { FilterForm } from './form.tsx'
import { Note, Panel, Facts, Fact } from './page.tsx'
import { WithRefusal } from './refused.tsx'
import { Ago } from './time.tsx'

/** Says what would happen to mail for an address; which one is in the page's address, as `explain`. */
export function Explain({ address }: { address: string }) {
  const [typed, setTyped] = useState<string | null>(null)
  const explanation = useApi<Route>(address === '' ? null : `/api/explain?to=${encodeURIComponent(address)}`)
  const isUnfit = explanation.error?.code === 'invalid_parameter'
  const apply = (): void => {
    if (typed !== null) setQuery({ explain: typed.trim() })
    setTyped(null)
  }
  return (
    <Panel heading={t.explain.heading} text={t.explain.text}>
      <WithRefusal error={isUnfit ? explanation.error : null} main="to">
        <FilterForm onApply={apply}>
          <Field name="to" label={t.common.address} type="email" value={typed ?? address} onValue={setTyped} />
          <p class="labelled bottom">
            <Button type="submit" text={t.explain.button} />
          </p>
        </FilterForm>
      </WithRefusal>
      {address !== '' && (
        <div class="body" aria-live="polite">
          <Answer of={explanation} rows={3} unfit={<></>}>
            {(found) => <Explained explanation={found} />}
          </Answer>
        </div>
      )}
    </Panel>
  )
}

const tones: Record<Route['next'], 'ok' | 'wait' | 'bad'> = {
  deliver: 'ok',
  simulate: 'ok',
  defer: 'wait',
  hold: 'wait',
  bounce: 'bad',
}

function Explained({ explanation: { to, next, reason, route, tls, suppressions, queue } }: { explanation: Route }) {
  const accounts = [...new Set(suppressions.map(({ account }) => account))]
  return (
    <div class="stack">
      <Note
        tone={accounts.length > 0 && next === 'deliver' ? 'wait' : tones[next]}
        says={accounts.length > 0 ? t.explain.suppressedBy(to, accounts) : t.explain.next[next](to)}
      >
        {accounts.length > 0 && <p>{t.explain.next[next](to)}</p>}
        {reason !== null && <p>{reason}</p>}
      </Note>
      <Facts>
        {suppressions.map(({ account_id: id, account, origin, topic, reason: why, created_at: at }) => (
          <Fact key={`${id} ${origin} ${topic}`} name={t.status.suppressed}>
            {t.explain.suppressedFor(account, t.suppressions.origins[origin] ?? origin, topic)}
            {why !== null && `: ${why}`} (<Ago of={at} />)
          </Fact>
        ))}
        {route.hosts.length > 0 && (
          <>
            <Fact name={route.via_smarthost ? t.explain.smarthost : t.explain.hosts}>
              <ol>
                {route.hosts.map(({ name, address, port }) => (
                  <li key={`${address} ${port}`}>
                    <code>
                      {name} {address}:{port}
                    </code>
                  </li>
                ))}
              </ol>
            </Fact>
            <Fact name={t.domain.tls}>{tlsWords(tls)}</Fact>
            <Fact name="MTA-STS">{tls.mta_sts && stsWords(tls.mta_sts)}</Fact>
          </>
        )}
        <Fact name={t.queue.waiting}>
          {queue && <Link href={`/queue/${queue.destination}`}>{t.queue.waitFor(queue.waiting, queue.destination)}</Link>}
        </Fact>
      </Facts>
    </div>
  )
}

/** What the setting requires, and what some sending domains require in any case: an account with a list of its own does not follow the setting. */
const tlsWords = ({ policy, enforced_by: domains }: Route['tls']): string =>
  [t.explain.tls[policy], ...(domains.length > 0 ? [t.explain.tlsEnforced(domains)] : [])].join(' ')

/** What the domain's policy requires, and until when it holds as it is known. */
const stsWords = ({ mode, mx, expires_at: until }: NonNullable<Route['tls']['mta_sts']>): string =>
  t.explain.sts[mode](mx.join(', '), dayAndTime(until))
