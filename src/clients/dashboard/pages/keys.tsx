import { useState } from 'preact/hooks'
import { useRows, useAll, invalidate } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { ApiKey, Domain } from '../api/types.ts'
import { shortDate } from '../format.ts'
import { AskButton } from '../parts/button.tsx'
import { ConfirmButton, Dialog } from '../parts/dialog.tsx'
import { useFields, optionsOf, Field, Choice, Switch } from '../parts/fields.tsx'
import { ListPage } from '../parts/list-page.tsx'
import type { Column } from '../parts/rows.tsx'
import { ShownOnce } from '../parts/shown-once.tsx'
import { Age } from '../parts/time.tsx'
import { isOperator } from '../rights.ts'
import { t } from '../texts/texts.ts'

export default function Keys() {
  const [token, setToken] = useState<string | null>(null)
  const domains = useRows<Domain>('/api/domains')
  const done = (made: string | null): void => {
    setToken(made)
    invalidate('/api/api-keys')
  }
  const domainOf = (id: string | null): string =>
    id === null ? t.keys.allDomains : (domains.find((domain) => domain.id === id)?.name ?? id)
  return (
    <ListPage
      heading={t.nav.keys}
      above={token !== null && <NewToken token={token} onKept={() => setToken(null)} />}
      list={useAll<ApiKey>('/api/api-keys')}
      columns={columnsWith(domainOf, done)}
      none={t.keys.none}
      add={{ text: t.keys.make, dialog: (close) => <MakeKey onMade={done} onClose={close} /> }}
    />
  )
}

const NewToken = ({ token, onKept }: { token: string; onKept(): void }) => (
  <ShownOnce name={t.keys.made} value={token} button={t.keys.kept} onKept={onKept}>
    <b>{t.keys.made}.</b> {t.keys.once}
  </ShownOnce>
)

const columnsWith = (domainOf: (id: string | null) => string, onDone: (token: string | null) => void): Column<ApiKey>[] => [
  {
    head: t.common.name,
    kind: 'title',
    cell: ({ name, sandbox }) => (
      <>
        {name} {sandbox && <span class="tag">{t.nav.sandbox}</span>}
      </>
    ),
  },
  {
    head: t.keys.permission,
    kind: 'word',
    cell: ({ permission, expires_at: at }) => (
      <>
        {t.keys.permissions[permission] ?? permission}
        {at !== null && <span class="muted"> {t.keys.expires(shortDate(at))}</span>}
      </>
    ),
  },
  { head: t.common.domain, kind: 'note', cell: ({ domain_id: id }) => domainOf(id) },
  { head: t.keys.begins, kind: 'word', cell: ({ prefix }) => <code>{prefix}…</code> },
  { head: t.common.lastUsed, kind: 'quiet', cell: ({ last_used_at: at }) => <Age of={at} /> },
  {
    head: '',
    kind: 'number',
    cell: (key) => (
      <>
        <AskButton look="small" text={t.keys.rotate} dialog={(close) => <RotateKey apiKey={key} onMade={onDone} onClose={close} />} />{' '}
        <ConfirmButton
          look="small"
          text={t.keys.revoke}
          says={t.keys.revokeText(key.name)}
          run={() => call(`/api/api-keys/${key.id}`, { method: 'DELETE' }).then(() => onDone(null))}
        />
      </>
    ),
  },
]

const dayMs = 24 * 60 * 60 * 1000

function MakeKey({ onMade, onClose }: { onMade(token: string): void; onClose(): void }) {
  const domains = useRows<Domain>('/api/domains')
  const { values, field } = useFields({ name: '', permission: 'sending_access', domain_id: '', sandbox: false, expires_at: '0' })
  const permissions = Object.entries(t.keys.permissions).filter(([each]) => isOperator() || (each !== 'operator' && each !== 'metrics'))
  const maySendOnly = values.permission === 'sending_access'
  const make = async (): Promise<void> => {
    const body = {
      ...values,
      domain_id: maySendOnly && values.domain_id !== '' ? values.domain_id : null,
      expires_at: values.expires_at === '0' ? null : new Date(Date.now() + Number(values.expires_at) * dayMs).toISOString(),
    }
    onMade((await call<{ token: string }>('/api/api-keys', { method: 'POST', body })).token)
  }
  return (
    <Dialog main="name" heading={t.keys.make} button={t.keys.make} run={make} onClose={onClose} disabled={values.name.trim() === ''}>
      <Field {...field('name')} label={t.keys.nameLabel} maxLength={100} />
      <Choice {...field('permission')} label={t.keys.permission} options={permissions} />
      {maySendOnly && <Choice {...field('domain_id')} label={t.common.domain} options={[['', t.keys.allDomains], ...optionsOf(domains)]} />}
      <Choice {...field('expires_at')} label={t.keys.expiry} options={Object.entries(t.keys.expiries)} />
      <Switch {...field('sandbox')} label={t.keys.sandboxLabel} />
    </Dialog>
  )
}

function RotateKey({ apiKey, onMade, onClose }: { apiKey: ApiKey; onMade(token: string): void; onClose(): void }) {
  const { values, field } = useFields({ overlap_seconds: '86400', force: false })
  const rotate = async (): Promise<void> => {
    const body = { ...values, overlap_seconds: Number(values.overlap_seconds) }
    onMade((await call<{ token: string }>(`/api/api-keys/${apiKey.id}/rotate`, { method: 'POST', body })).token)
  }
  return (
    <Dialog heading={t.keys.rotate} button={t.keys.rotate} run={rotate} onClose={onClose}>
      <p>{t.keys.rotateText(apiKey.name)}</p>
      <Choice {...field('overlap_seconds')} label={t.keys.overlap} options={Object.entries(t.keys.overlaps)} />
      <Switch {...field('force')} label={t.keys.endEarlier} />
    </Dialog>
  )
}
