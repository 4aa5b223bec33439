import { useEffect } from 'preact/hooks'
import { invalidate, useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { Domain } from '../api/types.ts'
import { ActionButton } from '../parts/button.tsx'
import { DnsRecord } from '../parts/dns-record.tsx'
import { addDomain, DomainName, ZoneFile } from '../parts/domain-name.tsx'
import { useFields } from '../parts/fields.tsx'
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
  const { values, field } = useFields({ name: '' })
  return (
    <>
      <Form main="name" button={t.domains.add} run={() => addDomain(values.name)} disabled={values.name.trim() === ''}>
        <DomainName {...field('name')} />
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
  const { zone, records } = domain
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
        <ActionButton text={t.domain.checkNow} icon="redo" look="main" run={check} />
        <ZoneFile domain={domain} />
      </div>
    </>
  )
}
