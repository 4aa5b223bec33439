import { useApi } from '../api/cache.ts'
import type { DmarcSummary, Domain } from '../api/types.ts'
import { number, percent } from '../format.ts'
import { Link } from '../router.tsx'
import { reasonsOf } from '../say.ts'
import { t } from '../texts/texts.ts'
import { Answer } from './answer.tsx'
import { CopyValue } from './controls.tsx'
import { Panel } from './page.tsx'

/** What receivers do with mail that is not the domain's, what they report, and the next step. */
export function DomainDmarc({ domain }: { domain: Domain }) {
  const summary = useApi<DmarcSummary>(`/api/domains/${domain.id}/dmarc`)
  return (
    <Panel heading={t.domain.dmarc}>
      <div class="body stack">
        <Answer of={summary} rows={2}>
          {({ policy, messages, pass_rate: rate, advice }) => (
            <>
              <p>
                {t.domain.policy(policy)} {messages === 0 ? t.domain.noReports : t.domain.passed(percent(rate), number(messages))}
              </p>
              <p>
                <b>{t.reports.steps[advice.step]}.</b> {reasonsOf(advice).join(' ')}
              </p>
              <p>
                <Link href={`/reports/${domain.name}`}>{t.domain.seeReports}</Link>
              </p>
              {advice.record && <CopyValue value={advice.record.value} name={t.domain.adviceRecord(advice.record.name)} />}
            </>
          )}
        </Answer>
      </div>
    </Panel>
  )
}
