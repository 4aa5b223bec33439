import { useState } from 'preact/hooks'
import { invalidate, useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { Domain, DomainRecord } from '../api/types.ts'
import { ObjectPage } from '../parts/answer.tsx'
import { ActionButton } from '../parts/button.tsx'
import { CopyTextButton } from '../parts/controls.tsx'
import { ConfirmButton } from '../parts/dialog.tsx'
import { DnsRecord, isFound, purposeText } from '../parts/dns-record.tsx'
import { DomainDmarc } from '../parts/domain-dmarc.tsx'
import { DomainKeys } from '../parts/domain-keys.tsx'
import { ZoneFile } from '../parts/domain-name.tsx'
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
  return (
    <ObjectPage of={domain} title={t.nav.domains} crumb={crumb()} missing={t.domain.notFound}>
      {(found) => <Shown domain={found} reload={domain.reload} />}
    </ObjectPage>
  )
}

const crumb = () => ({ href: '/domains', text: t.nav.domains })

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
      crumb={crumb()}
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
      {mayChange() && (
        <div class="acts">
          <ConfirmButton text={t.domain.remove} says={t.domain.removeText} typed={name} run={() => remove(domain)} />
        </div>
      )}
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
  return (
    <>
      <ZoneFile domain={domain} />
      {mayChange() && <ActionButton text={t.domain.checkNow} icon="redo" look="main" disabled={isAsked} run={check} />}
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
  return <CopyTextButton look="small" value={t.domain.prose(name, zone, described.join('\n\n'))} text={t.domain.forColleague} />
}

async function remove({ id }: Domain): Promise<void> {
  await call(`/api/domains/${id}`, { method: 'DELETE' })
  invalidate('/api/domains')
  navigate('/domains')
}
