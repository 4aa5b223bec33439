import { startDomainReportReader } from '../../mail-back/domain-report/domain-report-reader.ts'
import { domainReportHandler } from '../../mail-back/feedback/domain-report-handler.ts'
import { ReturnedMailStore } from '../../mail-back/feedback/returned-mail-store.ts'
import { operatorHandler } from '../../mail-back/feedback/operator-handler.ts'
import { ReturnedMailBudget } from '../../mail-back/feedback/returned-mail-budget.ts'
import { startFeedback } from '../../mail-back/feedback/start-feedback.ts'
import type { SystemMailer } from '../../mail-in/submission/system-mail.ts'
import type { Opened } from './opened.ts'
import { start, type Stop } from './stop.ts'
import { derivedFrom } from '../../platform/key-generations.ts'

/** ms that returned mail in hand gets when the relay stops. The rest is settled after the next start. */
const graceMs = 1_000

/** Opens the store of returned mail, and starts to settle it. */
export async function openFeedback(services: Opened & { systemMail: SystemMailer }, stops: Stop[]): Promise<ReturnedMailStore> {
  const { config, clock, secrets } = services
  const { storageLimit, complaintSources } = config.returnPath
  const returnedMail = new ReturnedMailStore({ ...services, budget: new ReturnedMailBudget(clock, storageLimit), complaintSources })
  await returnedMail.measure()
  const operator = operatorHandler(services, config)
  const reader = await start(startDomainReportReader(), stops)
  const domainReport = domainReportHandler({ ...services, reader })
  const feedback = await startFeedback(
    {
      ...services,
      returnedMail,
      tokenKeys: derivedFrom(secrets, (deriveKey) => deriveKey('verp')),
      handlers: { dmarc_report: domainReport, tls_report: domainReport, postmaster: operator, abuse: operator },
    },
    { complaintSources },
  )
  stops.push(() => feedback.stop(graceMs))
  return returnedMail
}
