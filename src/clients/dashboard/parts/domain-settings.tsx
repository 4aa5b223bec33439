import { useRef, useState } from 'preact/hooks'
import { call } from '../api/client.ts'
import type { Domain } from '../api/types.ts'
import { t } from '../texts/texts.ts'
import { Button, useAction } from './button.tsx'
import { Choice, Field, Switch } from './fields.tsx'
import { SentFields } from './form.tsx'
import { Panel } from './page.tsx'
import { WithRefusal } from './refused.tsx'

/** What applies to all mail of the domain. */
export function DomainSettings({ domain, reload }: { domain: Domain; reload(): Promise<void> }) {
  const waiting = useRef<Record<string, unknown>>({})
  const [host, setHost] = useState(domain.tracking_subdomain ?? '')
  const path = `/api/domains/${domain.id}`
  const save = (changes: Record<string, unknown>): Promise<void> => call(path, { method: 'PATCH', body: changes }).then(reload)
  const { error, start } = useAction(async () => {
    // What is changed while a change is under way follows it.
    while (Object.keys(waiting.current).length > 0) {
      const changes = waiting.current
      waiting.current = {}
      await save(changes)
    }
  })
  const set = (changes: Record<string, unknown>): void => {
    Object.assign(waiting.current, changes)
    start()
  }
  const policies = Object.entries(t.domain.tlsPolicies)
  const wantedHost = host.trim() === '' ? null : host.trim()
  const toggle = (name: 'subdomains' | 'open_tracking' | 'click_tracking') => ({
    name,
    value: domain[name],
    onValue: (isOn: boolean) => set({ [name]: isOn }),
  })
  const hostField = (
    <Field
      name="tracking_subdomain"
      label={t.domain.trackingHost}
      hint={t.domain.trackingHostHint(domain.name)}
      value={host}
      onValue={setHost}
      spellcheck={false}
      maxLength={32}
    />
  )
  return (
    <Panel heading={t.nav.settings}>
      <div class="body settings">
        <WithRefusal error={error}>
          <Switch {...toggle('subdomains')} label={t.domain.subdomains} />
          <Choice name="tls" label={t.domain.tls} value={domain.tls} options={policies} onValue={(tls) => set({ tls })} />
          <Switch {...toggle('open_tracking')} label={t.domain.openTracking} />
          <Switch {...toggle('click_tracking')} label={t.domain.clickTracking} />
        </WithRefusal>
        <SentFields class="inline" main="tracking_subdomain" run={() => save({ tracking_subdomain: wantedHost })} fields={hostField}>
          {(busy) => <Button type="submit" text={t.common.save} busy={busy} disabled={wantedHost === domain.tracking_subdomain} />}
        </SentFields>
      </div>
    </Panel>
  )
}
