import type { Row } from '../../platform/store/database.ts'
import { eraseReturnedMail, removeReturnedMailContent, returnedMailTexts, type ReturnedMailRow } from './erase-message-parts.ts'
import { eraseMessage } from './erase-message.ts'
import { messageTexts } from './erased-text.ts'
import { eraseSuppressions } from './erase-suppressions.ts'
import { eraseUnmatchedMail } from './erase-unmatched-mail.ts'
import { change, isWithin, searched, writeChanges, type Erasing } from './erasing.ts'

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
    const sql = `select ${returnedMailTexts} from returned_mail
      where id > :after and id <= :upto and lower(coalesce(reverse_path, '') || ' ' || coalesce(summary, '')) like :pattern`
    for await (const found of searched<ReturnedMailRow>(this.#erasing, { table: 'returned_mail', key: 'id', start: '', sql })) {
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
async function* messagesNaming(erasing: Erasing): AsyncGenerator<string> {
  for (const { table, id: idColumn, columns } of messageTables) {
    const text = columns.map((column) => `coalesce(${column}, '')`).join(" || ' ' || ")
    const sql = `select ${idColumn} as id, ${text} as texts from ${table}
      where id > :after and id <= :upto and (account_id = :accountId or :accountId = '') and lower(${text}) like :pattern`
    for await (const found of searched<{ id: string; texts: string }>(erasing, { table, key: 'id', start: '', sql })) {
      for (const { id, texts } of found) if (erasing.forms.names(texts)) yield id
    }
  }
}

const messageTables = [
  { table: 'recipient', id: 'message_id', columns: ['forward_path', 'orcpt', 'last_response'] },
  { table: 'message', id: 'id', columns: messageTexts },
]

interface AnswerRow extends Row {
  id: string
  response: string
  account_id: string
  sandbox: number
}

/** Responses of webhook receivers to posts about others. */
async function eraseWebhookAnswers(erasing: Erasing): Promise<void> {
  const { scope, forms, erased } = erasing
  const sql = `select a.id, a.response, w.account_id, w.sandbox
       from webhook_attempt a join webhook_delivery d on d.id = a.delivery_id join webhook w on w.id = d.webhook_id
      where a.id > :after and a.id <= :upto and lower(a.response) like :pattern`
  for await (const found of searched<AnswerRow>(erasing, { table: 'webhook_attempt', key: 'id', start: '', sql })) {
    const named = found.filter(
      (row) => forms.names(row.response) && isWithin(scope, { accountId: row.account_id, isSandbox: row.sandbox === 1 }),
    )
    const changes = named.map(({ id, response }) =>
      change('webhook_deliveries', 'update webhook_attempt set response = :response where id = :id', {
        id,
        response: forms.without(response, erased),
      }),
    )
    await writeChanges(erasing, changes)
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
  const { scope, forms, erased } = erasing
  const sql = `select account_id, operation, key, response from idempotency
      where expires_at > :after and expires_at <= :upto and lower(key || ' ' || response) like :pattern`
  for await (const found of searched<KeyRow>(erasing, { table: 'idempotency', key: 'expires_at', start: 0, sql })) {
    const changes = found
      .filter((row) => isWithin(scope, { accountId: row.account_id, isSandbox: row.operation.startsWith('sandbox-') }))
      .flatMap(({ account_id: accountId, operation, key, response }) => {
        const params = { accountId, operation, key }
        const ofKey = 'where account_id = :accountId and operation = :operation and key = :key'
        if (forms.isPartOf(key)) return [change('idempotency_keys', `delete from idempotency ${ofKey}`, params)]
        const after = forms.without(response, erased)
        if (after === response) return []
        return [change('idempotency_keys', `update idempotency set response = :after ${ofKey}`, { ...params, after })]
      })
    await writeChanges(erasing, changes)
  }
}
