package explorer

// kept is a cache of values up to a total weight. The oldest value is evicted first.
type kept[K comparable, V any] struct {
	limit, weight int
	values        map[K]weighed[V]
	order         []K
}

type weighed[V any] struct {
	value  V
	weight int
}

func newKept[K comparable, V any](limit int) *kept[K, V] {
	return &kept[K, V]{limit: limit, values: map[K]weighed[V]{}}
}

func (k *kept[K, V]) get(key K) (V, bool) {
	w, ok := k.values[key]
	return w.value, ok
}

// put caches a value, in place of an older one of its key, unless its weight exceeds the limit.
func (k *kept[K, V]) put(key K, value V, weight int) {
	if weight > k.limit {
		return
	}
	was, there := k.values[key]
	if !there {
		k.order = append(k.order, key)
	}
	k.values[key] = weighed[V]{value, weight}
	for k.weight += weight - was.weight; k.weight > k.limit; k.order = k.order[1:] {
		k.weight -= k.values[k.order[0]].weight
		delete(k.values, k.order[0])
	}
}
