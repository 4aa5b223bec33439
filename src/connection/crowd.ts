/**
 * Members in groups. Knows the largest group and, in each group, who was added or renewed the longest ago, and takes the same
 * short time for everything however many there are.
 */
export class Crowd<Member> {
  readonly #groups = new Map<string, Set<Member>>()
  /** Groups by their size; of one size, the one that changed the longest ago comes first. */
  readonly #bySize: Set<string>[] = []
  #largest = 0

  /** Members of the largest group; 0 where there is none. */
  get largest(): number {
    return this.#largest
  }

  sizeOf(group: string): number {
    return this.#groups.get(group)?.size ?? 0
  }

  /** Adds a member, or makes it the newest of its group where it is there. */
  add(group: string, member: Member): void {
    const members = this.#groups.get(group) ?? new Set()
    const before = members.size
    members.delete(member)
    members.add(member)
    this.#groups.set(group, members)
    this.#resized(group, before, members.size)
  }

  /** Does nothing where it is not there. */
  remove(group: string, member: Member): void {
    const members = this.#groups.get(group)
    if (!members?.delete(member)) return
    if (members.size === 0) this.#groups.delete(group)
    this.#resized(group, members.size + 1, members.size)
  }

  oldestOf(group: string): Member | undefined {
    const [oldest] = this.#groups.get(group) ?? []
    return oldest
  }

  /** The oldest of the largest group; of several, of the one that changed the longest ago. */
  oldestOfLargest(): Member | undefined {
    const [group] = this.#bySize[this.#largest] ?? []
    return group === undefined ? undefined : this.oldestOf(group)
  }

  #resized(group: string, before: number, size: number): void {
    this.#bySize[before]?.delete(group)
    if (size > 0) (this.#bySize[size] ??= new Set()).add(group)
    this.#largest = Math.max(this.#largest, size)
    // A group grows and shrinks by one, so this goes one step.
    while (this.#largest > 0 && !this.#bySize[this.#largest]?.size) this.#largest--
  }
}
