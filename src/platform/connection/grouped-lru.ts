/**
 * Members in groups. Knows the largest group and each group's least recently renewed member; every operation takes the same short time,
 * however many there are.
 */
export class GroupedLru<Member> {
  readonly #groups = new Map<string, Set<Member>>()
  /** Groups by size; within one size, the least recently changed first. */
  readonly #bySize: Set<string>[] = []
  #largest = 0

  /** Members of the largest group; 0 if there is none. */
  get largest(): number {
    return this.#largest
  }

  sizeOf(group: string): number {
    return this.#groups.get(group)?.size ?? 0
  }

  /** Adds a member, or makes it the newest of its group. */
  add(group: string, member: Member): void {
    const members = this.#groups.get(group) ?? new Set()
    const before = members.size
    members.delete(member)
    members.add(member)
    this.#groups.set(group, members)
    this.#resized(group, before, members.size)
  }

  /** Does nothing if it is absent. */
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

  /** The oldest member of the largest group; of several groups, the least recently changed. */
  oldestOfLargest(): Member | undefined {
    const [group] = this.#bySize[this.#largest] ?? []
    return group === undefined ? undefined : this.oldestOf(group)
  }

  #resized(group: string, before: number, size: number): void {
    this.#bySize[before]?.delete(group)
    if (size > 0) (this.#bySize[size] ??= new Set()).add(group)
    this.#largest = Math.max(this.#largest, size)
    // A group grows and shrinks by one, so this moves one step.
    while (this.#largest > 0 && !this.#bySize[this.#largest]?.size) this.#largest--
  }
}
