import type { Socket } from 'node:net'
import { clientNetwork } from '../ip-address.ts'

/** Counts open connections, all together and per client network, over every port that shares the limits. */
export class ConnectionSeats {
  readonly #max: number
  readonly #maxPerNetwork: number
  readonly #networkOf = new Map<Socket, string>()
  readonly #taken = new Map<string, number>()

  constructor(limits: { max: number; maxPerNetwork: number }) {
    this.#max = limits.max
    this.#maxPerNetwork = limits.maxPerNetwork
  }

  /** Gives this connection a seat until its socket closes; says why where there is none. */
  take(socket: Socket): 'taken' | 'full' | 'network_full' {
    const network = clientNetwork(socket.remoteAddress ?? '')
    const taken = this.#taken.get(network) ?? 0
    if (this.#networkOf.size >= this.#max) return 'full'
    if (taken >= this.#maxPerNetwork) return 'network_full'
    this.#taken.set(network, taken + 1)
    this.#networkOf.set(socket, network)
    this.watch(socket)
    return 'taken'
  }

  /** Again, for a socket whose listeners somebody has removed: frees its seat when it closes. */
  watch(socket: Socket): void {
    socket.once('close', () => this.#free(socket))
  }

  #free(socket: Socket): void {
    const network = this.#networkOf.get(socket)
    if (network === undefined) return
    this.#networkOf.delete(socket)
    const left = (this.#taken.get(network) ?? 1) - 1
    if (left === 0) this.#taken.delete(network)
    else this.#taken.set(network, left)
  }
}
