import { useEffect, useState } from 'preact/hooks'
import { invalidate, useApi } from '../api/cache.ts'
import { call, callForResponse } from '../api/client.ts'
import type { Domain } from '../api/types.ts'
import { download } from '../download.ts'
import { ActionButton } from '../parts/controls.tsx'
import { DnsRecord } from '../parts/dns-record.tsx'
import { addDomain, DomainName } from '../parts/domain-name.tsx'
import { Form } from '../parts/form.tsx'
import { Link } from '../router.tsx'
import { t } from '../texts/texts.ts'

const lookMs = 3_000
const askMs = 15_000

/** The domain that mail comes from: its name, then the records to publish, until all that are needed are found. */
export function DomainStep({ domain }: { domain: Domain | undefined }) {
  if (domain === undefined) return <AskName />
  return domain.status === 'verified' ? <Verified domain={domain} /> : <Records id={domain.id} />
}

function AskName() {
  const [name, setName] = useState('')
  return (
    <>
      <Form main="name" button={t.domains.add} run={() => addDomain(name)} disabled={name.trim() === ''}>
        <DomainName value={name} onValue={setName} />
      </Form>
      <p class="sum">
        <Link href="/sandbox">{t.welcome.withoutDns}</Link> {t.welcome.withoutDnsHow}
      </p>
    </>
  )
}

const Verified = ({ domain: { name, records } }: { domain: Domain }) => (
  <p class="sum">
    <Link href={`/domains/${name}`}>{name}</Link>,{' '}
    {t.domains.recordsFound(records.filter(({ status }) => status === 'verified').length, records.length)}
  </p>
)

function Records({ id }: { id: string }) {
  const path = `/api/domains/${id}`
  const { data: domain, reload } = useApi<Domain>(path, { everyMs: lookMs })
  const isVerified = domain?.status === 'verified'
  useEffect(() => {
    if (isVerified) invalidate('/api/domains?')
  }, [isVerified])
  const check = async (): Promise<void> => {
    await call(`${path}/verify`, { method: 'POST' })
    await reload()
  }
  useEffect(() => {
    // By itself the server looks only every few minutes, and somebody is waiting here.
    const timer = setInterval(() => document.hidden || void check().catch(() => undefined), askMs)
    return () => clearInterval(timer)
  }, [path])
  if (domain === undefined) return null
  const { name, zone, records } = domain
  const saveZone = async (): Promise<void> => {
    const response = await callForResponse(`${path}/zone`)
    download(`${name}.zone`, 'text/dns', await response.blob())
  }
  return (
    <>
      <p class="sum">
        {t.domain.neededHow(zone)} {t.domain.mayLeave}
      </p>
      <section class="panel" aria-label={t.domain.needed}>
        <ul>
          {records
            .filter(({ required }) => required)
            .map((record) => (
              <DnsRecord key={`${record.name} ${record.type}`} record={record} zone={zone} />
            ))}
        </ul>
      </section>
      <div class="acts">
        <ActionButton text={t.domain.checkNow} icon="redo" main run={check} />
        <ActionButton text={t.domain.zoneFile} icon="dl" run={saveZone} />
      </div>
    </>
  )
}
