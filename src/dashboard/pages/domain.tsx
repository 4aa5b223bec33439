import { useState } from 'preact/hooks'
import { invalidate, useApi } from '../api/cache.ts'
import { call, callForResponse } from '../api/client.ts'
import type { Domain, DomainRecord } from '../api/types.ts'
import { download } from '../download.ts'
import { Answer } from '../parts/answer.tsx'
import { ActionButton, useAction } from '../parts/controls.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Switch } from '../parts/fields.tsx'
import { DnsRecord, isNeeded } from '../parts/dns-record.tsx'
import { Note, Page, Panel } from '../parts/page.tsx'
import { State } from '../parts/state.tsx'
import { Ago } from '../parts/time.tsx'
import { mayChange } from '../rights.ts'
import { navigate, type PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'

const isFound = ({ status }: DomainRecord): boolean => status === 'verified'

export default function DomainPage({ params }: PageProps) {
  const [isWaiting, setWaiting] = useState(true)
  const domain = useApi<Domain>(`/api/domains/${encodeURIComponent(params['name'] ?? '')}`, { everyMs: isWaiting ? 3_000 : 30_000 })
  const { data } = domain
  if (data !== undefined && isWaiting === data.records.every(isFound)) setWaiting(!isWaiting)
  if (data === undefined) {
    const heading = domain.error?.status === 404 ? t.domain.notFound : ''
    return (
      <Page title={t.domains.title} heading={heading} crumb={{ href: '/domains', text: t.domain.crumb }}>
        {domain.error?.status !== 404 && <Answer of={domain}>{() => null}</Answer>}
      </Page>
    )
  }
  return <Shown domain={data} reload={domain.reload} />
}

function Shown({ domain, reload }: { domain: Domain; reload(): Promise<void> }) {
  const { name, records, status } = domain
  const needed = records.filter(isNeeded).toSorted((one, other) => Number(isFound(one)) - Number(isFound(other)))
  const advised = records.filter((record) => !isNeeded(record))
  const word = status === 'verified' ? undefined : t.domains.recordsFound(records.filter(isFound).length, records.length)
  const check = async (): Promise<void> => {
    await call(`/api/domains/${domain.id}/verify`, { method: 'POST' })
    await reload()
  }
  const saveZone = async (): Promise<void> => {
    const response = await callForResponse(`/api/domains/${domain.id}/zone`)
    download(`${name}.zone`, 'text/dns', await response.blob())
  }
  return (
    <Page
      narrow
      heading={name}
      crumb={{ href: '/domains', text: t.domain.crumb }}
      sub={
        <>
          <State of={status} {...(word === undefined ? {} : { word })} />
          <span>
            {t.domain.added('')}
            <Ago of={domain.created_at} />
          </span>
        </>
      }
      actions={
        <>
          <ActionButton text={t.domain.zoneFile} icon="dl" run={saveZone} />
          {mayChange() && <ActionButton text={t.domain.checkNow} icon="redo" main run={check} />}
        </>
      }
    >
      <Progress domain={domain} />
      <Panel heading={t.domain.needed} text={t.domain.neededHow(name)}>
        <ul>
          {needed.map((record) => (
            <DnsRecord key={`${record.name} ${record.type}`} record={record} domain={name} />
          ))}
        </ul>
      </Panel>
      <Panel heading={t.domain.advised}>
        <ul>
          {advised.map((record) => (
            <DnsRecord key={`${record.name} ${record.type}`} record={record} domain={name} />
          ))}
        </ul>
      </Panel>
      {mayChange() && <Settings domain={domain} reload={reload} />}
    </Page>
  )
}

function Progress({ domain: { name, status, checked_at: checkedAt } }: { domain: Domain }) {
  if (status === 'verified') return null
  if (status === 'failed') {
    return (
      <Note tone="bad">
        <p>
          <b>{t.domain.failed}</b>
        </p>
        <p>{t.domain.failedHow}</p>
      </Note>
    )
  }
  return (
    <Note tone="wait">
      <p>
        <b>{t.domain.lookingAgain}</b> {t.domain.askedDirectly(name)}
      </p>
      <p>
        {t.domain.mayLeave}{' '}
        {checkedAt !== null && (
          <>
            {t.domain.lastLook('')}
            <Ago of={checkedAt} />
          </>
        )}
      </p>
    </Note>
  )
}

function Settings({ domain, reload }: { domain: Domain; reload(): Promise<void> }) {
  const [asked, setAsked] = useState<'rotate' | 'remove' | null>(null)
  const [change, setChange] = useState<Record<string, unknown>>({})
  const path = `/api/domains/${domain.id}`
  const { error, start } = useAction(async () => {
    await call(path, { method: 'PATCH', body: change })
    await reload()
  })
  const set = (changes: Record<string, unknown>): void => {
    Object.assign(change, changes)
    setChange({ ...change })
    start()
  }
  const rotate = async (): Promise<void> => {
    await call(`${path}/dkim/rotate`, { method: 'POST' })
    await reload()
  }
  const remove = async (): Promise<void> => {
    await call(path, { method: 'DELETE' })
    invalidate('/api/domains')
    navigate('/domains')
  }
  const policies = Object.entries(t.domain.tlsPolicies)
  return (
    <Panel heading={t.domain.settings}>
      <div class="body settings">
        <Switch label={t.domain.subdomains} on={domain.subdomains} onChange={(subdomains) => set({ subdomains })} />
        <Switch label={t.domain.openTracking} on={domain.open_tracking} onChange={(on) => set({ open_tracking: on })} />
        <Switch label={t.domain.clickTracking} on={domain.click_tracking} onChange={(on) => set({ click_tracking: on })} />
        <Choice label={t.domain.tls} value={domain.tls} options={policies} onValue={(tls) => set({ tls })} />
        {error && (
          <p class="fault" role="alert">
            {error.message}
          </p>
        )}
        <div class="acts">
          <button class="btn" type="button" onClick={() => setAsked('rotate')}>
            {t.domain.rotate}
          </button>
          <button class="btn" type="button" onClick={() => setAsked('remove')}>
            {t.domain.remove}
          </button>
        </div>
      </div>
      {asked === 'rotate' && (
        <Dialog heading={t.domain.rotate} button={t.domain.rotate} run={rotate} onClose={() => setAsked(null)}>
          <p>{t.domain.rotateText}</p>
        </Dialog>
      )}
      {asked === 'remove' && (
        <Dialog heading={t.domain.remove} button={t.domain.remove} run={remove} onClose={() => setAsked(null)} typed={domain.name}>
          <p>{t.domain.removeText}</p>
        </Dialog>
      )}
    </Panel>
  )
}
