import { useState } from 'preact/hooks'
import { invalidate, useAll } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { ApiKey, Domain } from '../api/types.ts'
import { shortDate } from '../format.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Field, Switch } from '../parts/fields.tsx'
import { ListPage } from '../parts/list-page.tsx'
import { Page } from '../parts/page.tsx'
import type { Column } from '../parts/rows.tsx'
import { ShownOnce } from '../parts/shown-once.tsx'
import { Age } from '../parts/time.tsx'
import { isOperator, mayChange } from '../rights.ts'
import { t } from '../texts/texts.ts'

type Asked = { what: 'rotate' | 'revoke'; key: ApiKey } | null

export default function Keys() {
  const keys = useAll<ApiKey>(mayChange() ? '/api/api-keys' : null)
  const domains = useAll<Domain>(mayChange() ? '/api/domains' : null)
  const [asked, setAsked] = useState<Asked>(null)
  const [token, setToken] = useState<string | null>(null)
  if (!mayChange()) return <Page title={t.nav.keys} heading={t.common.notAllowed(t.common.admins)} />
  const done = (made: string | null): void => {
    setToken(made)
    invalidate('/api/api-keys')
  }
  const domainOf = (id: string | null): string =>
    id === null ? t.keys.allDomains : (domains.data?.data.find((domain) => domain.id === id)?.name ?? id)
  return (
    <ListPage
      heading={t.nav.keys}
      above={token !== null && <NewToken token={token} onKept={() => setToken(null)} />}
      list={keys}
      columns={columnsWith(domainOf, setAsked)}
      none={t.keys.none}
      add={{ text: t.keys.make, dialog: (close) => <MakeKey onMade={done} onClose={close} /> }}
    >
      {asked?.what === 'rotate' && <RotateKey apiKey={asked.key} onMade={done} onClose={() => setAsked(null)} />}
      {asked?.what === 'revoke' && <RevokeKey apiKey={asked.key} onDone={() => done(null)} onClose={() => setAsked(null)} />}
    </ListPage>
  )
}

const NewToken = ({ token, onKept }: { token: string; onKept(): void }) => (
  <ShownOnce name={t.keys.made} value={token} button={t.keys.kept} onKept={onKept}>
    <b>{t.keys.made}.</b> {t.keys.once}
  </ShownOnce>
)

const columnsWith = (domainOf: (id: string | null) => string, onAsk: (asked: Asked) => void): Column<ApiKey>[] => [
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
        <button class="btn small" type="button" onClick={() => onAsk({ what: 'rotate', key })}>
          {t.keys.rotate}
        </button>{' '}
        <button class="btn small" type="button" onClick={() => onAsk({ what: 'revoke', key })}>
          {t.keys.revoke}
        </button>
      </>
    ),
  },
]

const dayMs = 24 * 60 * 60 * 1000

function MakeKey({ onMade, onClose }: { onMade(token: string): void; onClose(): void }) {
  const domains = useAll<Domain>('/api/domains')
  const [name, setName] = useState('')
  const [permission, setPermission] = useState('sending_access')
  const [domainId, setDomainId] = useState('')
  const [sandbox, setSandbox] = useState(false)
  const [days, setDays] = useState('0')
  const permissions = Object.entries(t.keys.permissions).filter(([each]) => isOperator() || (each !== 'operator' && each !== 'metrics'))
  const make = async (): Promise<void> => {
    const body = {
      name,
      permission,
      sandbox,
      domain_id: permission === 'sending_access' && domainId !== '' ? domainId : null,
      expires_at: days === '0' ? null : new Date(Date.now() + Number(days) * dayMs).toISOString(),
    }
    onMade((await call<{ token: string }>('/api/api-keys', { method: 'POST', body })).token)
  }
  return (
    <Dialog main="name" heading={t.keys.make} button={t.keys.make} run={make} onClose={onClose} disabled={name.trim() === ''}>
      <Field name="name" label={t.keys.nameLabel} value={name} onValue={setName} maxLength={100} autocomplete="off" />
      <Choice name="permission" label={t.keys.permission} value={permission} options={permissions} onValue={setPermission} />
      {permission === 'sending_access' && (
        <Choice
          name="domain_id"
          label={t.common.domain}
          value={domainId}
          options={[['', t.keys.allDomains], ...(domains.data?.data ?? []).map(({ id, name: domain }): [string, string] => [id, domain])]}
          onValue={setDomainId}
        />
      )}
      <Choice name="expires_at" label={t.keys.expiry} value={days} options={Object.entries(t.keys.expiries)} onValue={setDays} />
      <Switch name="sandbox" label={t.keys.sandboxLabel} on={sandbox} onChange={setSandbox} />
    </Dialog>
  )
}

function RotateKey({ apiKey, onMade, onClose }: { apiKey: ApiKey; onMade(token: string): void; onClose(): void }) {
  const [overlap, setOverlap] = useState('86400')
  const [isForced, setForced] = useState(false)
  const rotate = async (): Promise<void> => {
    const body = { overlap_seconds: Number(overlap), force: isForced }
    onMade((await call<{ token: string }>(`/api/api-keys/${apiKey.id}/rotate`, { method: 'POST', body })).token)
  }
  return (
    <Dialog heading={t.keys.rotate} button={t.keys.rotate} run={rotate} onClose={onClose}>
      <p>{t.keys.rotateText(apiKey.name)}</p>
      <Choice
        name="overlap_seconds"
        label={t.keys.overlap}
        value={overlap}
        options={Object.entries(t.keys.overlaps)}
        onValue={setOverlap}
      />
      <Switch name="force" label={t.keys.endEarlier} on={isForced} onChange={setForced} />
    </Dialog>
  )
}

function RevokeKey({ apiKey, onDone, onClose }: { apiKey: ApiKey; onDone(): void; onClose(): void }) {
  const revoke = async (): Promise<void> => {
    await call(`/api/api-keys/${apiKey.id}`, { method: 'DELETE' })
    onDone()
  }
  return (
    <Dialog heading={t.keys.revoke} button={t.keys.revoke} run={revoke} onClose={onClose}>
      <p>{t.keys.revokeText(apiKey.name)}</p>
    </Dialog>
  )
}
