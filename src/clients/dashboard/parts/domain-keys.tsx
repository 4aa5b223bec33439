import { call } from '../api/client.ts'
import type { Domain } from '../api/types.ts'
import { mayChange } from '../rights.ts'
import { signingRecords } from '../signing-records.ts'
import { t } from '../texts/texts.ts'
import { ConfirmButton } from './dialog.tsx'
import { DnsRecord } from './dns-record.tsx'
import { Panel } from './page.tsx'

/** The keys that will sign, and those that no longer do: whose records are to be published, and whose must stay. */
export function DomainKeys({ domain, reload }: { domain: Domain; reload(): Promise<void> }) {
  const next = domain.records.filter(({ key }) => key === 'next')
  const retired = domain.records.filter(({ key }) => key === 'retired')
  const signing = signingRecords(domain.records)
  const rotate = async (): Promise<void> => {
    await call(`/api/domains/${domain.id}/dkim/rotate`, { method: 'POST', body: { force: next.length > 0 } })
    await reload()
  }
  return (
    <Panel
      heading={t.domain.keys}
      aside={
        mayChange() && (
          <ConfirmButton
            look="small"
            text={t.domain.rotate}
            says={
              <>
                <ol class="numbered">
                  {t.domain.rotateSteps.map((step) => (
                    <li key={step}>{step}</li>
                  ))}
                </ol>
                {next.length > 0 && <p>{t.domain.rotateAgain}</p>}
              </>
            }
            run={rotate}
          />
        )
      }
      text={next.length > 0 ? t.domain.nextKeys : retired.length > 0 ? t.domain.retiredKeys : t.domain.signingKeys(signing.length)}
    >
      {next.length + retired.length > 0 && (
        <ul>
          {[...next, ...retired].map((record) => (
            <DnsRecord key={record.name} record={record} zone={domain.zone} />
          ))}
        </ul>
      )}
    </Panel>
  )
}
