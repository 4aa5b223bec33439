import { fork, type ChildProcess } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'

/** Where slow connections go, and where they come from. */
export interface SlowAttack {
  port: number
  protocol: 'http' | 'submission' | 'return path'
  sockets: number
  /** Of this computer, taken in turn. */
  addresses: string[]
  /** The key that all of them show; null: none. */
  token: string | null
}

export interface SlowFigures {
  /** Connections begun, those that came again too. */
  tried: number
  /** Open now. */
  held: number
  sentAway: number
}

/** The attackers, in a process of their own. */
export class SlowAttackers {
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
  }

  /** Resolves when each connection has been tried once and their number no longer grows. */
  static async start(attack: SlowAttack): Promise<SlowAttackers> {
    const child = fork(new URL('./slow-attack.ts', import.meta.url))
    child.send(attack)
    const attackers = new SlowAttackers(child)
    for (let before = -1; ; await pause(300)) {
      const { tried, held } = await attackers.figures()
      if (tried >= attack.sockets && held <= before) return attackers
      before = held
    }
  }

  figures(): Promise<SlowFigures> {
    const { promise, resolve } = Promise.withResolvers<SlowFigures>()
    this.#child.once('message', (figures) => resolve(figures as SlowFigures))
    this.#child.send('figures')
    return promise
  }

  /** Ends all of them. */
  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve))
    this.#child.kill('SIGKILL')
    await ended
  }
}
