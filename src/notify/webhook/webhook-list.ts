import type { BaseServices } from '../../platform/base-services.ts'
import { scopeParams, type AccountScope } from '../../senders/account/account-scope.ts'
import type { Secrets } from '../../senders/account/key-file.ts'
import type { Clock } from '../../platform/clock.ts'
import { SternaError } from '../../platform/errors.ts'
import { newId } from '../../platform/id.ts'
import { ConflictError, type Database, type Row, refusedAs } from '../../platform/store/database.ts'
import { heldRows } from '../../platform/store/held-list.ts'
import { KeyedMutex } from '../../platform/store/keyed-mutex.ts'
import { pageClause, type Page } from '../../platform/store/page-clause.ts'
import { RevisedList } from '../../platform/store/revised-list.ts'
import { isSecret, newSecret } from './sign-webhook.ts'
import { cancelPending } from './webhook-delivery-store.ts'
import { deleteWebhook, insertWebhook, updateSecrets, updateWebhook, webhookRows, type Webhook } from './webhook-store.ts'
import { usualEvents } from './event-subscription.ts'
import { webhookObject, type WebhookFields } from './webhook-object.ts'
import { sealedSecrets, openedWebhook } from './sealed-webhook.ts'
import { newSigningKey, signingKeyFor } from './signing-key.ts'
import { checkWebhookUrl } from './webhook-url.ts'

interface ListServices extends Pick<BaseServices, 'db' | 'clock' | 'changes'> {
  secrets: Pick<Secrets, 'seal' | 'open'>
  /** Called after a webhook was created or enabled, here or at another node, because events may have been written since. */
  onEnabled(): void
}

/** Webhooks per account, over both modes. */
const webhookLimit = 50

/** The webhooks, held in memory with their secrets decrypted. While none is enabled, an event costs nothing. */
export class WebhookList extends RevisedList<Webhook> {
  readonly #db: Database
  readonly #clock: Clock
  readonly #secrets: Pick<Secrets, 'seal' | 'open'>
  readonly #onEnabled: () => void
  readonly #allowHttp: boolean
  #enabled = 0
  /** Changes to a webhook run one after the other. */
  readonly #turns = new KeyedMutex()

  constructor(services: ListServices, settings: { allowHttp: boolean }) {
    const { db, changes, secrets } = services
    const select = `select ${webhookRows.columns} from webhook`
    const read = (row: Row): Webhook => openedWebhook(webhookRows.read(row), secrets)
    super({ kind: 'webhook', changes, fetch: heldRows(db, { select, where: `status <> 'deleted'`, read }) })
    this.#db = services.db
    this.#clock = services.clock
    this.#secrets = services.secrets
    this.#onEnabled = services.onEnabled
    this.#allowHttp = settings.allowHttp
  }

  get someEnabled(): boolean {
    return this.#enabled > 0
  }

  findWebhook(id: string): Webhook | undefined {
    return this.held(id)
  }

  /** @throws SternaError `not_found`, also for webhooks of another account or mode */
  getWebhook(scope: AccountScope, id: string): Webhook {
    const webhook = this.held(id)
    if (webhook && webhook.accountId === scope.accountId && webhook.sandbox === scope.sandbox) return webhook
    throw noWebhook()
  }

  /** A page of them, for `listBody`. */
  async page(scope: AccountScope, page: Page): Promise<Webhook[]> {
    const { condition, order, params } = pageClause(page)
    const rows = await this.#db.slowRead<{ id: string }>(
      `select id from webhook where account_id = :accountId and sandbox = :sandbox and status <> 'deleted' and ${condition} ${order}`,
      { ...scopeParams(scope), ...params },
    )
    return rows.flatMap(({ id }) => this.held(id) ?? [])
  }

  /** @throws SternaError `validation_error` */
  async create(scope: AccountScope, given: Partial<WebhookFields> & { url: string }, secret: string = newSecret()): Promise<Webhook> {
    checkSecret(secret)
    const fields = { ...webhookObject.initial, ...given }
    checkWebhookUrl(fields.url, { allowHttp: this.#allowHttp })
    const now = this.#clock.now()
    const webhook: Webhook = {
      ...fields,
      accountId: scope.accountId,
      sandbox: scope.sandbox,
      events: fields.events ?? usualEvents(fields.payload),
      signingKey: await newSigningKey(fields.payload),
      id: newId('wh', now),
      disabledReason: fields.status === 'disabled' ? 'manual' : null,
      secret,
      previousSecret: null,
      previousExpiresAt: null,
      createdAt: now,
      updatedAt: now,
      revision: 0,
    }
    const insert = insertWebhook(webhook, sealedSecrets(webhook, this.#secrets), webhookLimit)
    await refusedAs(this.#db.write([insert, ...this.note(webhook.id)]), ConflictError, tooMany)
    return this.keep(webhook)
  }

  /**
   * Changes the given fields. Disabling cancels pending deliveries; enabling does not bring them back.
   * @throws SternaError `not_found`, `validation_error`
   */
  change(scope: AccountScope, id: string, changes: Partial<WebhookFields>): Promise<Webhook> {
    return this.#turns.take(id, () => this.revise(id, () => this.#change(scope, id, changes)))
  }

  async #change(scope: AccountScope, id: string, changes: Partial<WebhookFields>): Promise<Webhook> {
    const before = this.getWebhook(scope, id)
    if (changes.url !== undefined) checkWebhookUrl(changes.url, { allowHttp: this.#allowHttp })
    const now = this.#clock.now()
    const payload = changes.payload ?? before.payload
    const events = changes.events === null ? usualEvents(payload) : (changes.events ?? before.events)
    const signingKey = await signingKeyFor(payload, before.signingKey)
    const after: Webhook = { ...before, ...changes, events, signingKey, updatedAt: now }
    const switched = after.status !== before.status
    if (switched) after.disabledReason = after.status === 'disabled' ? 'manual' : null
    const batch = [updateWebhook(after, sealedSecrets(after, this.#secrets), { reenabled: switched && after.status === 'enabled' })]
    if (switched && after.status === 'disabled') batch.push(cancelPending(id))
    await this.#db.write([...batch, ...this.note(id)])
    await this.reload(id)
    return this.getWebhook(scope, id)
  }

  /** Deletes it and cancels its pending deliveries. @throws SternaError `not_found` */
  async remove(scope: AccountScope, id: string): Promise<void> {
    this.getWebhook(scope, id)
    const batch = [deleteWebhook(id, this.#clock.now()), cancelPending(id), ...this.note(id)]
    await refusedAs(this.#db.write(batch), ConflictError, noWebhook)
    this.drop(id)
  }

  /** Deletes all webhooks of an account, in both modes. */
  async removeAll(accountId: string): Promise<void> {
    for (const webhook of this.inOrder((each) => each.accountId === accountId)) await this.remove(webhook, webhook.id)
  }

  /**
   * Replaces the secret at once, and the signing key if it has one. For `overlapMs`, requests are also signed with the old secret.
   * @throws SternaError `not_found`, `rotation_in_progress` during an overlap, unless `force`
   */
  rotateSecret(scope: AccountScope, id: string, options: { overlapMs: number; force: boolean; secret?: string }): Promise<Webhook> {
    const rotate = () => this.revise(id, () => this.#rotateSecret(scope, id, options))
    return this.#turns.take(id, () => refusedAs(rotate(), ConflictError, rotationInProgress))
  }

  async #rotateSecret(
    scope: AccountScope,
    id: string,
    { overlapMs, force, secret = newSecret() }: { overlapMs: number; force: boolean; secret?: string },
  ): Promise<Webhook> {
    checkSecret(secret)
    const before = this.getWebhook(scope, id)
    const now = this.#clock.now()
    const webhook: Webhook = {
      ...before,
      secret,
      previousSecret: overlapMs > 0 ? before.secret : null,
      previousExpiresAt: overlapMs > 0 ? now + overlapMs : null,
      signingKey: await newSigningKey(before.payload),
      updatedAt: now,
    }
    await this.#db.write([updateSecrets(webhook, sealedSecrets(webhook, this.#secrets), { force }), ...this.note(id)])
    return (await this.reload(id)) ?? this.getWebhook(scope, id)
  }

  protected override follow(before: Webhook | undefined, after: Webhook | undefined): void {
    const [was, is] = [before?.status === 'enabled', after?.status === 'enabled']
    this.#enabled += Number(is) - Number(was)
    if (is && !was) this.#onEnabled()
  }
}

const noWebhook = (cause?: unknown): SternaError => new SternaError('not_found', 'There is no webhook with this id.', { cause })

const rotationInProgress = (cause: unknown): SternaError =>
  new SternaError('rotation_in_progress', 'The previous secret is still valid. Wait until it expires, or send "force": true.', { cause })

function checkSecret(secret: string): void {
  if (isSecret(secret)) return
  throw new SternaError('validation_error', 'A signing secret must be whsec_ and 24 to 64 bytes in base64.')
}

const tooMany = (cause: unknown): SternaError =>
  new SternaError('validation_error', `An account may have ${webhookLimit} webhooks. Delete one that is no longer needed.`, { cause })
