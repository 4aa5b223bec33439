import type { Row } from '../../platform/store/database.ts'
import { tableWindows } from '../../platform/store/table-windows.ts'
import { eraseReturnedMail, removeReturnedMailContent, returnedMailTexts, type ReturnedMailRow } from './erase-message-parts.ts'
import { eraseMessage } from './erase-message.ts'
import { messageTexts } from './erased-text.ts'
import { eraseSuppressions } from './erase-suppressions.ts'
import { eraseUnmatchedMail } from './erase-unmatched-mail.ts'
import { isWithin, writeChanges, type Change, type Erasing } from './erasing.ts'

/** Messages processed at a time. They share commits. */
const messagesAtOnce = 8

/** Erases an address by searching everything, again and again, until nothing names it. */
export class AddressErasure {
  readonly #erasing: Erasing
  /** Every message that has named it. Work in hand may have written about the address since. */
  readonly #messageIds = new Set<string>()
  readonly #recipientIds = new Set<string>()

  constructor(erasing: Erasing) {
    this.#erasing = erasing
  }

  /** Searches everything once. `isClean`: nothing named the address; `isInHand`: something in hand still does. */
  async round(): Promise<{ isClean: boolean; isInHand: boolean }> {
    const before = JSON.stringify(this.#erasing.counts)
    await eraseSuppressions(this.#erasing)
    const messages = await this.#eraseMessages()
    await this.#eraseRemainingMail()
    await eraseWebhookAnswers(this.#erasing)
    await eraseIdempotencyKeys(this.#erasing)
    await eraseUnmatchedMail(this.#erasing)
    return { isClean: messages.isClean && JSON.stringify(this.#erasing.counts) === before, isInHand: messages.isInHand }
  }

  async #eraseMessages(): Promise<{ isClean: boolean; isInHand: boolean }> {
    for await (const id of messagesNaming(this.#erasing)) this.#messageIds.add(id)
    const ids = [...this.#messageIds]
    const results = new Set<string>()
    for (let start = 0; start < ids.length; start += messagesAtOnce) {
      const some = ids.slice(start, start + messagesAtOnce)
      for (const result of await Promise.all(some.map((id) => eraseMessage(id, this.#erasing, this.#recipientIds)))) results.add(result)
    }
    return { isClean: !results.has('changed'), isInHand: results.has('in_hand') }
  }

  /** Returned mail that was not found through its message: pending, or naming the address without proof. */
  async #eraseRemainingMail(): Promise<void> {
    const { db, scope, forms } = this.#erasing
    const isTheirs = ({ recipient_id: id }: ReturnedMailRow): boolean => id !== null && this.#recipientIds.has(id)
    const waiting = await db.slowRead<ReturnedMailRow>(
      `select ${returnedMailTexts} from returned_mail where state = 'received' and recipient_id is not null`,
    )
    for (const row of waiting.filter(isTheirs)) await this.#eraseReturnedMail(row, true)
    for await (const window of tableWindows(db, { table: 'returned_mail', key: 'id', start: '' })) {
      const found = await db.slowRead<ReturnedMailRow>(
        `select ${returnedMailTexts} from returned_mail
          where id > :after and id <= :upto and lower(coalesce(reverse_path, '') || ' ' || coalesce(summary, '')) like :pattern`,
        { ...window, pattern: forms.pattern },
      )
      const within = found.filter((row) => isWithin(scope, { accountId: row.account_id, isSandbox: false }))
      for (const row of within.filter((each) => forms.names(`${each.reverse_path} ${each.summary}`)))
        await this.#eraseReturnedMail(row, isTheirs(row))
    }
  }

  async #eraseReturnedMail(row: ReturnedMailRow, isTheirs: boolean): Promise<void> {
    await writeChanges(this.#erasing, [...eraseReturnedMail(row, isTheirs, this.#erasing), ...removeReturnedMailContent(row)])
  }
}

/** Messages to the address, and others that name it anywhere but in their content. */
async function* messagesNaming({ db, scope, forms }: Erasing): AsyncGenerator<string> {
  const params = { accountId: scope.accountId ?? '', pattern: forms.pattern }
  for await (const window of tableWindows(db, { table: 'recipient', key: 'id', start: '' })) {
    const found = await db.slowRead<{ message_id: string; texts: string }>(
      `select message_id, forward_path || ' ' || coalesce(orcpt, '') || ' ' || coalesce(last_response, '') as texts from recipient
        where id > :after and id <= :upto and (account_id = :accountId or :accountId = '')
          and lower(forward_path || ' ' || coalesce(orcpt, '') || ' ' || coalesce(last_response, '')) like :pattern`,
      { ...params, ...window },
    )
    for (const { message_id: id, texts } of found) if (forms.names(texts)) yield id
  }
  for await (const window of tableWindows(db, { table: 'message', key: 'id', start: '' })) {
    const found = await db.slowRead<{ id: string; texts: string }>(
      `select id, ${messageText} as texts from message
        where id > :after and id <= :upto and (account_id = :accountId or :accountId = '') and lower(${messageText}) like :pattern`,
      { ...params, ...window },
    )
    for (const { id, texts } of found) if (forms.names(texts)) yield id
  }
}

/** All texts of a message's row in one. */
const messageText = messageTexts.map((column) => `coalesce(${column}, '')`).join(" || ' ' || ")

/** Responses of webhook receivers to posts about others. */
async function eraseWebhookAnswers(erasing: Erasing): Promise<void> {
  const { db, scope, forms, erased } = erasing
  for await (const window of tableWindows(db, { table: 'webhook_attempt', key: 'id', start: '' })) {
    const found = await db.slowRead<{ id: string; response: string; account_id: string; sandbox: number }>(
      `select a.id, a.response, w.account_id, w.sandbox
         from webhook_attempt a join webhook_delivery d on d.id = a.delivery_id join webhook w on w.id = d.webhook_id
        where a.id > :after and a.id <= :upto and lower(a.response) like :pattern`,
      { ...window, pattern: forms.pattern },
    )
    const named = found.filter(
      (row) => forms.names(row.response) && isWithin(scope, { accountId: row.account_id, isSandbox: row.sandbox === 1 }),
    )
    const sql = 'update webhook_attempt set response = :response where id = :id'
    await writeChanges(
      erasing,
      named.map(({ id, response }) => ({
        counted: 'webhook_deliveries',
        statement: { sql, params: { id, response: forms.without(response, erased) } },
      })),
    )
  }
}

interface KeyRow extends Row {
  account_id: string
  operation: string
  key: string
  response: string
}

/** The stored responses to idempotent requests. A key that names the address is deleted. */
async function eraseIdempotencyKeys(erasing: Erasing): Promise<void> {
  const { db, scope, forms, erased } = erasing
  for await (const window of tableWindows(db, { table: 'idempotency', key: 'expires_at', start: 0 })) {
    const found = await db.slowRead<KeyRow>(
      `select account_id, operation, key, response from idempotency
        where expires_at > :after and expires_at <= :upto and lower(key || ' ' || response) like :pattern`,
      { ...window, pattern: forms.pattern },
    )
    const changes = found
      .filter((row) => isWithin(scope, { accountId: row.account_id, isSandbox: row.operation.startsWith('sandbox-') }))
      .flatMap(({ account_id: accountId, operation, key, response }): Change[] => {
        const params = { accountId, operation, key }
        const ofKey = 'where account_id = :accountId and operation = :operation and key = :key'
        if (forms.isPartOf(key)) return [{ counted: 'idempotency_keys', statement: { sql: `delete from idempotency ${ofKey}`, params } }]
        const after = forms.without(response, erased)
        if (after === response) return []
        const sql = `update idempotency set response = :after ${ofKey}`
        return [{ counted: 'idempotency_keys', statement: { sql, params: { ...params, after } } }]
      })
    await writeChanges(erasing, changes)
  }
}
