import { useState } from 'preact/hooks'
import { invalidate, useApi } from '../api/cache.ts'
import { call, callForResponse } from '../api/client.ts'
import type { Domain, DomainRecord } from '../api/types.ts'
import { download } from '../download.ts'
import { Answer } from '../parts/answer.tsx'
import { ActionButton, CopyTextButton } from '../parts/controls.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { DnsRecord, isFound, purposeText } from '../parts/dns-record.tsx'
import { DomainDmarc } from '../parts/domain-dmarc.tsx'
import { DomainKeys } from '../parts/domain-keys.tsx'
import { DomainProgress } from '../parts/domain-progress.tsx'
import { DomainSettings } from '../parts/domain-settings.tsx'
import { Page, Panel } from '../parts/page.tsx'
import { State } from '../parts/state.tsx'
import { Ago } from '../parts/time.tsx'
import { mayChange } from '../rights.ts'
import { navigate, type PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'

export default function DomainPage({ params }: PageProps) {
  const [isWaiting, setWaiting] = useState(true)
  const domain = useApi<Domain>(`/api/domains/${encodeURIComponent(params['name'] ?? '')}`, { everyMs: isWaiting ? 3_000 : 30_000 })
  const { data } = domain
  if (data !== undefined && isWaiting === data.records.every(isFound)) setWaiting(!isWaiting)
  if (data === undefined) {
    const heading = domain.error?.status === 404 ? t.domain.notFound : ''
    return (
      <Page title={t.nav.domains} heading={heading} crumb={{ href: '/domains', text: t.nav.domains }}>
        {domain.error?.status !== 404 && <Answer of={domain}>{() => null}</Answer>}
      </Page>
    )
  }
  return <Shown domain={data} reload={domain.reload} />
}

/** The unfinished first. */
const inOrder = (records: DomainRecord[]): DomainRecord[] => records.toSorted((one, other) => Number(isFound(one)) - Number(isFound(other)))

function Shown({ domain, reload }: { domain: Domain; reload(): Promise<void> }) {
  const { name, zone, records, status } = domain
  const published = records.filter(({ key }) => key !== 'next' && key !== 'retired')
  const needed = inOrder(published.filter(({ required }) => required))
  const advised = inOrder(published.filter(({ required }) => !required))
  const word = status === 'verified' ? undefined : t.domains.recordsFound(published.filter(isFound).length, published.length)
  const list = (some: DomainRecord[]) => (
    <ul>
      {some.map((record) => (
        <DnsRecord key={`${record.name} ${record.type}`} record={record} zone={zone} />
      ))}
    </ul>
  )
  return (
    <Page
      narrow
      heading={name}
      crumb={{ href: '/domains', text: t.nav.domains }}
      sub={
        <>
          <State of={status} {...(word === undefined ? {} : { word })} />
          <span>
            {t.domain.added('')}
            <Ago of={domain.created_at} />
          </span>
        </>
      }
      actions={<Actions domain={domain} reload={reload} />}
    >
      <DomainProgress domain={domain} reload={reload} />
      <Panel heading={t.domain.needed} aside={<Prose name={name} zone={zone} records={published} />} text={t.domain.neededHow(zone)}>
        {list(needed)}
      </Panel>
      <Panel heading={t.domain.advised}>{list(advised)}</Panel>
      {status === 'verified' && <DomainKeys domain={domain} reload={reload} />}
      {status === 'verified' && <DomainDmarc domain={domain} />}
      {mayChange() && <DomainSettings domain={domain} reload={reload} />}
      {mayChange() && <Removal domain={domain} />}
    </Page>
  )
}

/** How soon the server may be asked to look again. */
const askingMs = 10_000

function Actions({ domain, reload }: { domain: Domain; reload(): Promise<void> }) {
  const [isAsked, setAsked] = useState(false)
  const check = async (): Promise<void> => {
    await call(`/api/domains/${domain.id}/verify`, { method: 'POST' })
    setAsked(true)
    setTimeout(() => setAsked(false), askingMs)
    await reload()
  }
  const saveZone = async (): Promise<void> => {
    const response = await callForResponse(`/api/domains/${domain.id}/zone`)
    download(`${domain.name}.zone`, 'text/dns', await response.blob())
  }
  return (
    <>
      <ActionButton text={t.domain.zoneFile} icon="dl" run={saveZone} />
      {mayChange() && <ActionButton text={t.domain.checkNow} icon="redo" main disabled={isAsked} run={check} />}
    </>
  )
}

/** The records as a letter to whoever looks after the DNS. */
function Prose({ name, zone, records }: { name: string; zone: string; records: DomainRecord[] }) {
  const described = records.map((record) =>
    t.domain.proseRecord({
      purpose: purposeText(record),
      type: record.type === 'MX' ? t.domain.mxType(record.priority ?? 10) : record.type,
      host: record.host,
      value: record.value,
    }),
  )
  return <CopyTextButton small value={t.domain.prose(name, zone, described.join('\n\n'))} text={t.domain.forColleague} />
}

function Removal({ domain }: { domain: Domain }) {
  const [isAsked, setAsked] = useState(false)
  const remove = async (): Promise<void> => {
    await call(`/api/domains/${domain.id}`, { method: 'DELETE' })
    invalidate('/api/domains')
    navigate('/domains')
  }
  return (
    <div class="acts">
      <button class="btn" type="button" onClick={() => setAsked(true)}>
        {t.domain.remove}
      </button>
      {isAsked && (
        <Dialog heading={t.domain.remove} button={t.domain.remove} run={remove} onClose={() => setAsked(false)} typed={domain.name}>
          <p>{t.domain.removeText}</p>
        </Dialog>
      )}
    </div>
  )
}
