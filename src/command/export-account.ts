import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Account } from '../account/accounts.ts'
import type { AccountScope } from '../account/account-scope.ts'
import { SternaError } from '../errors.ts'
import { ReturnedMailList } from '../feedback/returned-mail-list.ts'
import { apiKey } from '../http/api/api-key-operations.ts'
import { auditEntry } from '../http/api/audit-operations.ts'
import { domainAnswer } from '../http/api/domain-resource.ts'
import { emailRecords } from '../http/api/email-reading-operations.ts'
import { attemptResource, eventObject } from '../http/api/email-resource.ts'
import { feedbackReportDetail } from '../http/api/feedback-resource.ts'
import { suppression } from '../http/api/suppression-operations.ts'
import { templateResource } from '../http/api/template-resource.ts'
import { templateVersion } from '../http/api/template-version-resource.ts'
import { userResource } from '../http/api/user-operations.ts'
import { webhookResource } from '../http/api/webhook-resource.ts'
import { isoTime } from '../iso-time.ts'
import type { MessageFilter } from '../message/message-filter.ts'
import { MessageReader } from '../message/message-reader.ts'
import type { MessageRow } from '../message/message-store.ts'
import { contentKeptMs } from '../message/retention.ts'
import type { Page } from '../store/page-clause.ts'
import { SuppressionEntries } from '../suppression/suppression-entries.ts'
import type { CommandServices } from './command-services.ts'
import { LineFile } from './line-file.ts'

/** What the format is called in the manifest; it rises with every change that a reader must know of. */
const formatNumber = 1

/** Rows that are in memory at a time. */
const pageSize = 100

const everyMessage: MessageFilter = { status: null, to: null, from: null, domainId: null, tag: null, since: null, until: null }

/** An export that is being written. */
interface Export {
  account: Account
  directory: string
  services: CommandServices
  /** Aborted when nobody waits any longer. */
  signal: AbortSignal
  files: { name: string; lines: number }[]
}

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
  await exportLines(
    task,
    'domains.ndjson',
    domains.map((domain) => domainAnswer(domain, sendingDomains)),
  )
  await exportTemplates(task)
  const returned = new ReturnedMailList(db)
  const ofAccount = { accountId: account.id, purpose: null, messageId: null, result: null }
  await exportPages(task, 'feedback.ndjson', {
    page: (page) => returned.page(ofAccount, page),
    objects: (rows) => rows.map(feedbackReportDetail.answer),
  })
  await exportPages(task, 'audit.ndjson', {
    page: (page) => audit.page({ accountId: account.id }, page),
    objects: (rows) => rows.map(auditEntry.answer),
  })
}

/** One by one: a template can have megabytes. */
const exportTemplates = (task: Export): Promise<void> =>
  exportFile(task, 'templates.ndjson', (file) =>
    exportFile(task, 'template-versions.ndjson', async (ofVersions) => {
      const { templates } = task.services
      for await (const rows of pages(
        (page) => templates.page(task.account.id, page),
        ({ id }) => id,
      )) {
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
  await exportLines(task, `${mode}/webhooks.ndjson`, (await services.webhooks.page(scope, firstPage)).map(webhookResource.answer))
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
  for await (const page of pages(
    (asked) => messages.attempts(row.id, asked),
    ({ id }) => id,
  )) {
    await attempts.write(page.map(attemptResource.answer))
  }
  for await (const page of pages<Awaited<ReturnType<MessageReader['events']>>[number], number>(
    (asked) => messages.events(row.id, asked),
    ({ seq }) => seq,
  )) {
    await events.write(page.map(eventObject))
  }
}

const firstPage: Page = { limit: pageSize, after: null, before: null }

/** The pages of a list, one at a time. */
async function* pages<Row, Edge extends string | number = string>(
  read: (page: Page<Edge>) => Promise<Row[]>,
  edgeOf: (row: Row) => Edge,
): AsyncGenerator<Row[]> {
  let after: Edge | null = null
  for (;;) {
    const rows: Row[] = await read({ limit: pageSize, after, before: null })
    const page = rows.slice(0, pageSize)
    const last = page.at(-1)
    if (last === undefined) return
    yield page
    if (rows.length <= pageSize) return
    after = edgeOf(last)
  }
}

interface Source<Row> {
  page(page: Page): Promise<Row[]>
  objects(rows: Row[]): readonly object[] | Promise<readonly object[]>
}

const exportPages = <Row extends { id: string }>(task: Export, name: string, { page, objects }: Source<Row>): Promise<void> =>
  exportFile(task, name, async (file) => {
    for await (const rows of pages(page, ({ id }) => id)) {
      if (task.signal.aborted) throw new SternaError('invalid_state', 'The export was interrupted, and its directory is not complete.')
      await file.write(await objects(rows))
    }
  })

const exportLines = (task: Export, name: string, objects: readonly object[]): Promise<void> =>
  exportFile(task, name, (file) => file.write(objects))

/** Writes a file of the export, and lists it once it is whole. */
async function exportFile({ directory, files }: Export, name: string, write: (file: LineFile) => Promise<void>): Promise<void> {
  const file = await LineFile.create(join(directory, name))
  try {
    await write(file)
  } finally {
    await file.close()
  }
  files.push({ name, lines: file.lines })
}
