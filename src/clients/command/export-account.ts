import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AccountScope } from '../../senders/account/account-scope.ts'
import { ReturnedMailList } from '../../mail-back/feedback/returned-mail-list.ts'
import { apiKey } from '../../api/resource/api-key-operations.ts'
import { auditEntry } from '../../api/resource/audit-operations.ts'
import { listDomainReports, type DomainReportRow } from '../../mail-back/domain-report/domain-report-list.ts'
import { readDmarcRows, readTlsRows } from '../../mail-back/domain-report/domain-report-rows.ts'
import { dmarcRow, domainReport, tlsRow } from '../../api/resource/domain-report-resource.ts'
import { domainAnswer } from '../../api/resource/domain-resource.ts'
import { emailRecords } from '../../api/resource/email-reading-operations.ts'
import { attemptResource, eventObject } from '../../api/resource/email-resource.ts'
import { erasure } from '../../api/resource/erasure-operations.ts'
import { feedbackReportDetail } from '../../api/resource/feedback-resource.ts'
import { passkeyResource } from '../../api/resource/passkey-operations.ts'
import { quotaObject } from '../../api/resource/quota-operations.ts'
import { policyObject, shownPolicies } from '../../api/resource/account-policy-operations.ts'
import { suppression } from '../../api/resource/suppression-operations.ts'
import { templateResource } from '../../api/resource/template-resource.ts'
import { templateVersion } from '../../api/resource/template-version-resource.ts'
import { userResource } from '../../api/resource/user-operations.ts'
import { postedDetails, webhookDelivery, webhookResource } from '../../api/resource/webhook-resource.ts'
import { isoTime } from '../../platform/iso-time.ts'
import { everyMessage } from '../../mail/message/message-filter.ts'
import { MessageReader } from '../../mail/message/message-reader.ts'
import type { MessageRow } from '../../mail/message/message-store.ts'
import { contentKeptMs } from '../../mail/message/retention.ts'
import { firstPage, pages, pagesBy } from '../../platform/store/page-clause.ts'
import type { Domain } from '../../senders/sending-domain/domain.ts'
import { SuppressionEntries } from '../../mail/suppression/suppression-entries.ts'
import { DeliveryHistory } from '../../notify/webhook/delivery-history.ts'
import type { DeliveryFilter } from '../../notify/webhook/delivery-search.ts'
import type { Webhook } from '../../notify/webhook/webhook-store.ts'
import type { CommandServices } from './command-services.ts'
import { type Export, exportFile, exportLines, exportPages, goOn, type LineFile } from './export-files.ts'

/** What the format is called in the manifest; it rises with every change that a reader must know of. */
const formatNumber = 1

const everyReport = { kind: null, since: null, until: null }
const everyDelivery: DeliveryFilter = { state: null, type: null, eventId: null }

/**
 * Writes all data of an account into a directory that exists and is empty, page by page; docs/account-export.md has the format. The
 * manifest comes last, so a directory without one is not complete.
 * @returns the manifest
 * @throws SternaError `invalid_state` if the signal aborts it
 */
export async function exportAccount(wanted: Omit<Export, 'files'>, accountObject: object) {
  const { account, directory, services } = wanted
  const { clock } = services
  const task: Export = { ...wanted, files: [] }
  const createdAt = isoTime(clock.now())
  await writeFile(join(directory, 'account.json'), `${JSON.stringify(accountObject, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  await exportSettings(task)
  for (const sandbox of [false, true]) await exportMail(task, { accountId: account.id, sandbox })
  const manifest = {
    object: 'account_export',
    format: formatNumber,
    account_id: account.id,
    created_at: createdAt,
    finished_at: isoTime(clock.now()),
    files: task.files,
  }
  await writeFile(join(directory, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  return manifest
}

/** What is not told apart by mode. */
async function exportSettings(task: Export): Promise<void> {
  const { account, services } = task
  const { db, apiKeys, people, sendingDomains, audit } = services
  await exportLines(task, 'api-keys.ndjson', apiKeys.list(account.id).map(apiKey.answer))
  await exportLines(task, 'users.ndjson', people.users.list(account.id).map(userResource.answer))
  const domains = sendingDomains.list(account.id)
  const shownDomains = domains.map((domain) => domainAnswer(domain, sendingDomains))
  await exportLines(task, 'domains.ndjson', shownDomains)
  const ownerIds = [account.id, ...domains.map(({ id }) => id)]
  await exportLines(task, 'quotas.ndjson', await Promise.all(ownerIds.map((id) => quotaObject(id, services))))
  for (const policy of shownPolicies)
    await exportLines(task, `${policy.path.slice(1)}.ndjson`, [policyObject(policy, account.id, services.policies)])
  await exportPasskeys(task)
  await exportReports(task, domains)
  await exportTemplates(task)
  const returned = new ReturnedMailList(db)
  const ofAccount = { accountId: account.id, purpose: null, messageId: null, result: null }
  await exportPages(task, 'feedback.ndjson', {
    page: (page) => returned.page(ofAccount, page),
    objects: (rows) => rows.map(feedbackReportDetail.answer),
  })
  await exportPages(task, 'erasures.ndjson', {
    page: (page) => services.erasures.page(account.id, page),
    objects: (rows) => rows.map(erasure.answer),
  })
  await exportPages(task, 'audit.ndjson', {
    page: (page) => audit.page({ accountId: account.id }, page),
    objects: (rows) => rows.map(auditEntry.answer),
  })
}

const exportPasskeys = (task: Export): Promise<void> =>
  exportFile(task, 'passkeys.ndjson', async (file) => {
    const { users, passkeys } = task.services.people
    for (const { id } of users.list(task.account.id)) {
      await file.write((await passkeys.list(id)).map((passkey) => ({ user_id: id, ...passkeyResource.answer(passkey) })))
    }
  })

/** What receivers report about the domains; the rows of a report are in a file of their own. */
const exportReports = (task: Export, domains: readonly Domain[]): Promise<void> =>
  exportFile(task, 'domain-reports.ndjson', (file) =>
    exportFile(task, 'domain-report-rows.ndjson', async (ofRows) => {
      for (const domain of domains) {
        for await (const reports of pages((page) => listDomainReports(task.services.db, domain, everyReport, page))) {
          goOn(task)
          for (const { id, kind } of reports) await exportReportRows(ofRows, { id, kind }, task.services)
          await file.write(reports.map((report) => ({ domain_id: domain.id, ...domainReport.answer(report) })))
        }
      }
    }),
  )

async function exportReportRows(
  file: LineFile,
  { id, kind }: Pick<DomainReportRow, 'id' | 'kind'>,
  { db }: Pick<CommandServices, 'db'>,
): Promise<void> {
  const write = (rows: object[]): Promise<void> => file.write(rows.map((row) => ({ report_id: id, ...row })))
  const placeOf = ({ place }: { place: number }): number => place
  if (kind === 'dmarc')
    for await (const rows of pagesBy(placeOf, (page) => readDmarcRows(db, id, page))) await write(rows.map(dmarcRow.answer))
  else for await (const rows of pagesBy(placeOf, (page) => readTlsRows(db, id, page))) await write(rows.map(tlsRow.answer))
}

/** One by one: a template can have megabytes. */
const exportTemplates = (task: Export): Promise<void> =>
  exportFile(task, 'templates.ndjson', (file) =>
    exportFile(task, 'template-versions.ndjson', async (ofVersions) => {
      const { templates } = task.services
      for await (const rows of pages((page) => templates.page(task.account.id, page))) {
        for (const { id } of rows) {
          const template = await templates.get(task.account.id, id)
          await file.write([templateResource.answer(template)])
          for (const { number } of await templates.versions.list(template)) {
            const version = await templates.versions.get(template, number)
            await ofVersions.write([{ template_id: id, ...templateVersion.answer({ ...version, isSent: number === template.liveNumber }) }])
          }
        }
      }
    }),
  )

/** What is either live or in the sandbox, each in a directory of its own. */
async function exportMail(task: Export, scope: AccountScope): Promise<void> {
  const { services, directory } = task
  const mode = scope.sandbox ? 'sandbox' : 'live'
  await mkdir(join(directory, mode, 'messages'), { recursive: true, mode: 0o700 })
  const messages = new MessageReader(services.db)
  const suppressions = new SuppressionEntries(services)
  const webhooks = await services.webhooks.page(scope, firstPage)
  await exportLines(task, `${mode}/webhooks.ndjson`, webhooks.map(webhookResource.answer))
  await exportDeliveries(task, `${mode}/webhook-deliveries.ndjson`, webhooks)
  await exportPages(task, `${mode}/suppressions.ndjson`, {
    page: (page) => suppressions.page(scope, {}, page),
    objects: (rows) => rows.map(suppression.answer),
  })
  await exportFile(task, `${mode}/attempts.ndjson`, (attempts) =>
    exportFile(task, `${mode}/events.ndjson`, (events) =>
      exportPages(task, `${mode}/emails.ndjson`, {
        page: (page) => messages.list(scope, everyMessage, page),
        async objects(rows) {
          for (const row of rows) await exportMessage({ row, directory: join(directory, mode, 'messages') }, { messages, attempts, events })
          return emailRecords(messages, rows, contentKeptMs(services.config))
        },
      }),
    ),
  )
}

/** What was posted to webhooks, with each attempt. */
const exportDeliveries = (task: Export, name: string, webhooks: readonly Webhook[]): Promise<void> =>
  exportFile(task, name, async (file) => {
    const history = new DeliveryHistory({ ...task.services, wake: () => {} })
    for (const { id } of webhooks) {
      for await (const rows of pages((page) => history.deliveries(id, everyDelivery, page))) {
        goOn(task)
        for (const delivery of rows) {
          const details = postedDetails.answer({ delivery, attempts: await history.attempts(delivery.id) })
          await file.write([{ webhook_id: id, ...webhookDelivery.answer(delivery), ...details }])
        }
      }
    }
  })

const seqOf = ({ seq }: { seq: number }): number => seq

/** The content of one message, where it is still kept, and what happened to it, oldest first. */
async function exportMessage(
  { row, directory }: { row: MessageRow; directory: string },
  { messages, attempts, events }: { messages: MessageReader; attempts: LineFile; events: LineFile },
): Promise<void> {
  const content = await messages.content(row.id)
  if (content.length > 0) {
    const day = join(directory, isoTime(row.created_at).slice(0, 10))
    await mkdir(day, { recursive: true, mode: 0o700 })
    await writeFile(join(day, `${row.id}.eml`), content, { mode: 0o600, flag: 'wx' })
  }
  for await (const page of pages((asked) => messages.attempts(row.id, asked))) {
    await attempts.write(page.map(attemptResource.answer))
  }
  for await (const page of pagesBy(seqOf, (asked) => messages.events(row.id, asked))) {
    await events.write(page.map(eventObject))
  }
}
