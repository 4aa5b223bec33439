import type { BaseServices } from '../../platform/base-services.ts'
import { readByAny } from '../../platform/key-generations.ts'
import { ConflictError } from '../../platform/store/database.ts'
import type { ErasedAddress } from './erased-address.ts'
import { endSubscription, subscriptionOf, type UnsubscribeMethod } from './unsubscribe.ts'
import { decodeUnsubscribeToken, type UnsubscribeKeys, type UnsubscribeTarget } from './unsubscribe-token.ts'

interface UnsubscribeLinksServices extends Pick<BaseServices, 'db' | 'clock'> {
  /** Of each generation. */
  keys: () => readonly UnsubscribeKeys[]
  erasedAddress: ErasedAddress
}

/** Reads unsubscribe links and applies them. */
export class UnsubscribeLinks {
  readonly #services: UnsubscribeLinksServices

  constructor(services: UnsubscribeLinksServices) {
    this.#services = services
  }

  /** What a link's token says; null if it is not valid. */
  read(token: string): UnsubscribeTarget | null {
    return readByAny(this.#services.keys(), (keys) => decodeUnsubscribeToken(token, keys))
  }

  /** Works even if the message was deleted. Repeating it changes nothing and writes nothing. */
  async use(target: UnsubscribeTarget, method: UnsubscribeMethod): Promise<void> {
    const { db, clock } = this.#services
    for (;;) {
      const subscription = await subscriptionOf(target, this.#services)
      const batch = subscription ? endSubscription(subscription, method, clock.now()) : []
      if (batch.length === 0) return
      try {
        await db.write(batch)
        return
      } catch (error) {
        // Of two concurrent uses, one comes first. The other one reads again and sees the result.
        if (!(error instanceof ConflictError)) throw error
      }
    }
  }
}
